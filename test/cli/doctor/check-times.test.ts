import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { checkTimes } from '../../../cli/doctor/check-times.ts'
import { createWorkspace } from '../../../db/workspaces/workspaces.ts'
import { freshSchema } from '../../support/schema.ts'

const schema = await freshSchema()
after(() => schema.drop())

describe('the doctor', () => {
  it('finds feedback with times that mean "not set", or in the future, by workspace', async () => {
    const insert = async (workspace: string, times: readonly string[]): Promise<void> => {
      const { id } = (await createWorkspace(schema.sql, workspace))!
      for (const time of times) {
        await schema.sql`
          insert into feedback (workspace_id, id, description, tags_generated, source, source_created_at, number, first_number,
            change_position)
          values (${id}, gen_random_uuid(), 'x', false, 'api', ${time}, 1, 1, 1)`
      }
    }
    await insert('well', ['1999-12-31T23:59:59Z', new Date().toISOString()])
    assert.deepEqual(await checkTimes(schema.sql), [])
    await insert('unset', ['0001-01-01T00:00:00Z', '1970-01-01T00:00:00Z', '9999-12-31T23:59:59Z'])
    const [finding, ...others] = await checkTimes(schema.sql)
    assert.deepEqual([finding?.level, others], ['attention', []])
    assert.match(finding!.what, /: unset has 1 in the future and 2 before 1981\. Reports/)
  })
})
