import process from 'node:process'
import { startPostgres } from '../../cli/start/embedded/postgres-server.ts'
import { startRedis } from '../../cli/start/embedded/redis-server.ts'
import { SERVER_ENVIRONMENT } from '../../cli/start/embedded/server.ts'

// `serveOn` runs this on a host of a test's network. It ends at SIGTERM, or with its server.

const { kind, ...options } = JSON.parse(process.env['SERVE']!)
// A server gets only the variables of SERVER_ENVIRONMENT. It needs those of a test clock
// (test/faults/clocks.test.ts).
const ofClock = Object.entries(process.env).filter(([name]) => name === 'LD_PRELOAD' || name.startsWith('FAKETIME'))
Object.assign(SERVER_ENVIRONMENT, Object.fromEntries(ofClock))
const start = kind === 'redis' ? startRedis : startPostgres
const { url, port, pid, exited, stop } = await start(options)
process.on('SIGTERM', () => void stop().then(() => process.exit(0)))
void exited.then(() => process.exit(0))
console.log(JSON.stringify({ event: 'serving', port, url, pid }))
