/**
 * Whether Redis answered with an error. By its name: commands that use no Redis do not load ioredis,
 * which takes long.
 */
export const isRefusedByRedis = (error: unknown): error is Error =>
  error instanceof Error && error.name === 'ReplyError'

/** Whether Redis refused a command because it has no memory left. */
export const isFullRedis = (error: unknown): boolean => isRefusedByRedis(error) && error.message.startsWith('OOM ')
