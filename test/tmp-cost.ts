import { readFileSync, mkdtempSync, writeFileSync } from 'node:fs'
import { startPostgres } from '../cli/start/embedded/postgres-server.ts'
import { startRedis } from '../cli/start/embedded/redis-server.ts'
const cg = process.argv[2]!
const cpu = () => Number(readFileSync(cg + '/cpuacct.usage', 'utf8')) / 1e9
const step = async (what: string, f: () => Promise<any>) => { const t = cpu(); const r = await f(); console.log(what, (cpu() - t).toFixed(2)); return r }
const dir = mkdtempSync('/tmp/fi-cost-')
const pg = await step('start pg', () => startPostgres({ dataDir: dir + '/pg' }))
const rd = await step('start redis', () => startRedis({ dataDir: dir + '/rd' }))
process.env['TEST_DATABASE_URL'] = pg.url; process.env['TEST_REDIS_URL'] = rd.url
const { freshSchema } = await import('./support/schema.ts')
const { startService } = await import('./support/service.ts')
for (let i = 0; i < 3; i++) { const s = await step('fresh', () => freshSchema()); await step('drop', () => s.drop()) }
for (const w of [[0,0],[1,0],[1,1],[1,1]] as const) { const s = await step(`service ${w}`, () => startService({ apis: w[0], workers: w[1] })); await step('idle 5 s', () => new Promise(r => setTimeout(r, 5000)));
 if (w[1]) { await step('200 submissions', async () => { for (let i = 0; i < 200; i++) await s.post('/feedbacks', { description: 'x' + i, contact: { email: `a${i}@x.org` } }) }); await step('10 submit', async () => { for (let i = 0; i < 10; i++) await s.submit('/feedbacks', { description: 'x' + i, contact: { email: `a${i}@x.org` } }) }); }
 await step('stop', () => s.stop()) }
await rd.stop(); await pg.stop(); process.exit(0)
