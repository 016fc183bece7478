import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import type { Column } from '../../contract/records/columns.ts'
import { TEXTS } from '../../contract/records/texts.ts'
import { setSource } from '../../db/sources.ts'
import { readRecords } from '../../db/reads/records.ts'
import { seeded } from '../support/property-seed.ts'
import { makeWorkspaces, sharedSchema } from '../support/schema.ts'

const { sql } = await sharedSchema()

const name = fc.option(fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => text.replaceAll('\0', '')))
const isLinked = fc.boolean()
const drawn = fc.record({
  title: name,
  rating: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
  tags: fc.option(fc.array(fc.constantFrom('a', 'b "c"', ''), { maxLength: 3 })),
  customerName: name,
  accountName: name,
  otherAccountName: name,
  projectName: name.map((text) => text ?? 'project'),
  hasCustomer: isLinked,
  hasAccount: isLinked,
  hasAccountOfCustomer: isLinked,
  hasProject: isLinked,
  owner: fc.constantFrom('feedback' as const, 'contact' as const, 'account' as const),
  plan: fc.constantFrom('trial', 3, false, null, []),
})

const MEMBERS: readonly [string, Column][] = Object.entries(TEXTS.feedback.columns)

describe('a readable feedback', () => {
  it('has the members and values of feedback_view, the account of its contact included', async () => {
    await fc.assert(
      fc.asyncProperty(drawn, async (given) => {
        const workspaceId = randomUUID()
        await makeWorkspaces(sql, [workspaceId])
        const [feedback, customer, own, other, project] = [1, 2, 3, 4, 5].map(() => randomUUID())
        const { hasCustomer, hasAccount, hasAccountOfCustomer, hasProject } = given
        const field = { name: 'plan', path: 'plan', of: given.owner }
        await setSource(sql, { workspaceId, source: 'API' }, { fields: [field] })
        const numbers = { first_number: 1, number: 1, change_position: 1 }
        const ofWorkspace = { workspace_id: workspaceId, ...numbers }
        const properties = sql.json({ plan: given.plan }) as never
        const accounts = [
          { ...ofWorkspace, id: own!, name: given.accountName, properties },
          { ...ofWorkspace, id: other!, name: given.otherAccountName, properties },
        ]
        await sql`insert into account ${sql(accounts)}`
        const account_id = hasAccountOfCustomer ? other! : null
        await sql`insert into contact ${sql({ ...ofWorkspace, id: customer!, name: given.customerName, account_id, properties })}`
        await sql`insert into project ${sql({ workspace_id: workspaceId, id: project!, name: given.projectName, first_number: 1, change_position: 1 })}`
        await sql`insert into feedback ${sql({
          ...ofWorkspace,
          id: feedback!,
          description: 'x',
          title: given.title,
          rating: given.rating,
          tags: given.tags,
          tags_generated: false,
          source: 'API',
          source_data: properties,
          contact_id: hasCustomer ? customer! : null,
          account_id: hasAccount ? own! : null,
          project_id: hasProject ? project! : null,
        })}`
        const [text] = await readRecords(sql, workspaceId, [{ kind: 'feedback', id: feedback! }])
        const [row] = await sql<Record<string, unknown>[]>`
          select to_jsonb(v) as row from feedback_view as v where workspace_id = ${workspaceId}`
        const stored = row!['row'] as Record<string, unknown>
        const read = JSON.parse(text!) as Record<string, unknown>
        for (const [column, { read: member, type }] of MEMBERS) {
          if (member === undefined) continue
          const value = stored[column] ?? undefined
          const expected = type === 'timestamptz' ? Date.parse(value as string) : value
          assert.deepEqual(type === 'timestamptz' ? Date.parse(read[member] as string) : read[member], expected, member)
        }
        const ofCustomer = hasCustomer && hasAccountOfCustomer ? other : undefined
        assert.equal(read['accountId'], hasAccount ? own : ofCustomer)
        assert.equal(read['customerName'], hasCustomer ? (given.customerName ?? undefined) : undefined)
        const isSet = typeof given.plan !== 'object'
        const isRead = { feedback: true, contact: hasCustomer, account: read['accountId'] !== undefined }[given.owner]
        assert.deepEqual(read['fields'], isSet && isRead ? { plan: given.plan } : undefined)
        const members = MEMBERS.flatMap(([, { read: member }]) => member ?? [])
        assert.deepEqual(
          Object.keys(read).filter((member) => !members.includes(member)),
          [],
        )
      }),
      seeded({ numRuns: 40 }),
    )
  })
})
