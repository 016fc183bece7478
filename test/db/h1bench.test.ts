import { readFileSync } from 'node:fs'
import { freshSchema } from '/work/main/test/support/schema.ts'
import { applyStrides } from '/work/main/worker/apply/apply-strides.ts'
import { applyBusy } from '/work/main/worker/apply/busy-session.ts'
import { StrideKeys } from '/work/main/worker/apply/keys.ts'
import { load } from '/work/main/db/load.ts'
import { noChanges } from '/work/main/db/save.ts'
import { Fold } from '/work/main/worker/fold/fold.ts'
import { hashKey, makeWorkspaces } from '/work/main/test/support/deliveries.ts'
import { v7 } from 'uuid'
import * as v from 'valibot'
import { SCHEMAS } from '/work/main/test/model/submission-arbitrary.ts'
import process from 'node:process'
import { it } from 'node:test'
it('bench', async () => {
const { feedbackBody, BODIES } = await import('/work/main/test/bench/bodies.ts')
const contactBody = (i: number) => (BODIES as any).contact(i, { people: 10_000_000 })
const conversationBody = (i: number) => (BODIES as any).conversation(i, { people: 10_000_000 })
const { sql, drop } = await freshSchema(4)
const ws = 'a3c54be2-54c5-4f0c-8d55-5e9b9b1f0c11'
await makeWorkspaces(sql, [ws])
let number = Date.now() * 1000
const pg = async () => {
  const rows = await sql`select pid from pg_stat_activity where application_name = 'test'`
  let t = 0
  for (const { pid } of rows as any) { try { const f = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' '); t += (Number(f[11]) + Number(f[12])) * 10000 } catch {} }
  return t }
const old = async () => { 
  const { readdirSync } = await import('node:fs')
  return 0 }
const run = async (name: string, operation: string, N: number, strides: number, bodyOf: (i: number) => unknown) => {
  for (let pass = 0; pass < 2; pass++) {
    let js = 0
    const cpu0 = process.cpuUsage()
    let cpu = 0
    const p0 = await pg()
    for (let s = 0; s < strides; s++) {
      const after = number
      const submissions = Array.from({ length: N }, (_, i) => ({ operation, workspaceId: ws, submissionId: v7(), number: ++number, seenPosition: number, body: v.parse((SCHEMAS as any)[operation], bodyOf((pass * strides + s) * N + i)), idempotency: { key: v7(), body: 'abcdefghi' } })) as any
      const [{ position }] = await sql`select applied_number::float8 as position from workspace_progress where workspace_id=${ws}` as any
      const c = process.cpuUsage(); const a = performance.now()
      await applyStrides({ sql, hashKey }, [{ workspaceId: ws, after: position, submissions }])
      js += performance.now() - a
      const d = process.cpuUsage(c); cpu += d.user + d.system
    }
    console.log('pg cpu', (((await pg()) - p0) / (strides * N)).toFixed(0), name, 'pass', pass, 'us per submission', (js / (strides * N) * 1000).toFixed(0), 'own cpu', (cpu / (strides * N)).toFixed(0))
  }
}
await run('feedback new', 'create_feedback', 500, 10, (i) => feedbackBody(i, { people: 10_000_000 } as any))
await run('feedback known', 'create_feedback', 500, 10, (i) => feedbackBody(i, { people: 2000 } as any))
await run('identify new', 'identify_contact', 500, 10, (i) => contactBody(i + 5_000_000))
await run('identify known', 'identify_contact', 500, 10, (i) => contactBody(i % 3000))
await run('conversations', 'submit_conversation', 25, 10, (i) => conversationBody(i))
for (const [name, operation, N, bodyOf] of [['feedback known', 'create_feedback', 500, (i: number) => feedbackBody(i, { people: 2000 } as any)], ['identify', 'identify_contact', 500, (i: number) => contactBody(i % 3000)], ['conv', 'submit_conversation', 25, conversationBody]] as any) {
  const submissions = Array.from({ length: N }, (_, i) => ({ operation, workspaceId: ws, submissionId: v7(), number: ++number, seenPosition: number, body: v.parse((SCHEMAS as any)[operation], bodyOf(i)), idempotency: { key: v7(), body: 'abcdefghi' } })) as any
  let k = 0, l = 0, f = 0, w = 0, j = 0
  for (let i = 0; i < 60; i++) {
    const t0 = performance.now()
    const keys = new StrideKeys({ hashKey, workspaceId: ws }, submissions, false)
    const t1 = performance.now()
    const [loaded] = await load(sql, [keys])
    const t2 = performance.now()
    const fold = new Fold(keys.realm); fold.learn(loaded!, keys)
    for (const one of submissions) fold.takeIn(one)
    const t3 = performance.now()
    const changes = noChanges(); fold.writeTo(changes, 1)
    const t4 = performance.now()
    for (const table of Object.values(changes)) JSON.stringify(table)
    const t5 = performance.now()
    if (i < 20) continue
    k += t1 - t0; l += t2 - t1; f += t3 - t2; w += t4 - t3; j += t5 - t4
  }
  const per = (ms: number) => ((ms * 1000) / (40 * N)).toFixed(1)
  console.log(name, 'keys', per(k), 'load', per(l), 'fold', per(f), 'write', per(w), 'stringify', per(j))
}
await drop()
})
