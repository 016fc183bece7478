import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { seeded } from '../../support/property-seed.ts'
import { sharedSchema } from '../../support/schema.ts'

const { sql } = await sharedSchema()

const storableText = fc
  .oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('', 'NULL', 'null', '{}', '{a,b}', '"', '\\', '\\"', ',', ' ', '\n'),
  )
  .filter((text) => !text.includes('\0'))

describe('an array', () => {
  it('of texts comes back unchanged, element by element', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(storableText), { maxLength: 6 }), async (texts) => {
        const [row] = await sql<{ whole: (string | null)[]; elements: (string | null)[] }[]>`
          select a as whole, array(select to_jsonb(t)::text from unnest(a) with ordinality as u (t, n) order by n) as elements
          from (select ${texts}::text[] as a) as given`
        assert.deepEqual(row!.whole, texts)
        assert.deepEqual(
          row!.elements.map((text) => (text === null ? null : (JSON.parse(text) as unknown))),
          texts,
        )
      }),
      seeded({ numRuns: 200 }),
    )
  })

  it('of ids or of numbers comes back unchanged', async () => {
    const id = '01890000-0000-7000-8000-000000000000'
    const [row] = await sql`
      select ${[id]}::uuid[] as ids, ${[1, -2]}::int4[] as small, ${['9007199254740993']}::int8[] as large,
        ${[]}::uuid[] as none, null::text[] as missing, 1 = any (${[1]}) as found`
    assert.deepEqual(
      { ...row },
      { ids: [id], small: [1, -2], large: ['9007199254740993'], none: [], missing: null, found: true },
    )
  })
})
