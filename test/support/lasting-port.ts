import { randomInt } from 'node:crypto'
import { reserveNextPort } from '../../cli/start/embedded/free-port.ts'

/** Below the ports that Linux and macOS give to outgoing connections. */
const [LOWEST, HIGHEST] = [20_000, 32_000]

/** A free port that no outgoing connection takes while its server is away. */
export const findLastingPort = async (): Promise<number> => {
  const { port, release } = await reserveNextPort(randomInt(LOWEST, HIGHEST), '127.0.0.1')
  await release()
  return port
}
