import { randomInt } from 'node:crypto'
import { reserveNextPort } from '../../cli/start/embedded/free-port.ts'

/** Below the ports that Linux and macOS give to outgoing connections by default. */
const [LOWEST, HIGHEST] = [20_000, 31_000]
let next = randomInt(LOWEST, HIGHEST)

/** A free port that no outgoing connection takes while its server is away. */
export const findLastingPort = async (): Promise<number> => {
  const { port, release } = await reserveNextPort(next, '127.0.0.1')
  next = port + 1
  await release()
  return port
}
