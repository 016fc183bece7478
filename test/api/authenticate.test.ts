import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createAuthenticate } from '../../api/authenticate.ts'
import { TOKEN_REMEMBERED_MS, TOKEN_USABLE_WITHOUT_POSTGRES_MS } from '../../contract/limits.ts'
import { makeToken } from '../../contract/token-format.ts'
import { addToken, findTokenHolders, revokeToken } from '../../db/tokens.ts'
import { connectPostgres } from '../../db/connection/postgres.ts'
import { connectToSchema, sharedSchema } from '../support/schema.ts'

const schema = await sharedSchema()
const TOKENS = 1_200

describe('a look-up of tokens', () => {
  const makeTokens = async (count: number) => {
    const tokens = Array.from({ length: count }, () => makeToken())
    const add = (token: string) =>
      addToken(schema.sql, { token, workspace: 'default', scopes: ['submit'], expiresAt: null })
    const ids = await Promise.all(tokens.map(add))
    return tokens.map((token, at) => ({ token, id: ids[at]! }))
  }

  /** An `authenticate` with the sizes of its look-ups, and a clock that the test sets. */
  const watched = () => {
    const lookUps: number[] = []
    const clock = { ms: 0 }
    const authenticate = createAuthenticate(
      (hashes) => {
        lookUps.push(hashes.length)
        return findTokenHolders(schema.sql, hashes)
      },
      { now: Date.now, steadily: () => clock.ms },
    )
    return { authenticate, lookUps, clock }
  }

  it('also renews other tokens in use, so that many tokens need few look-ups', async () => {
    const tokens = await makeTokens(TOKENS)
    const { authenticate, lookUps, clock } = watched()
    for (const { token } of tokens) {
      assert.ok('scopes' in (await authenticate(token)))
      clock.ms += 1
    }
    assert.equal(lookUps.length, TOKENS, 'each new token needs a look-up')
    lookUps.length = 0
    const seconds = 60
    for (let second = 0; second < seconds; second++) {
      for (const { token } of tokens) assert.ok('scopes' in (await authenticate(token)))
      clock.ms += 1_000
    }
    // A look-up renews at most 1,000 other tokens, so one round of all tokens takes two.
    const rounds = (seconds * 1_000) / (TOKEN_REMEMBERED_MS / 2)
    assert.ok(lookUps.length <= 2 * rounds, `${lookUps.length} look-ups`)
    assert.ok(Math.max(...lookUps) > 500 && Math.max(...lookUps) <= 1_001, String(lookUps))
  })

  it('does not renew unused tokens', async () => {
    const [used, idle] = await makeTokens(2)
    const { authenticate, lookUps, clock } = watched()
    await authenticate(idle!.token)
    for (let second = 0; second < 60; second++) {
      await authenticate(used!.token)
      clock.ms += 1_000
    }
    assert.deepEqual(new Set(lookUps), new Set([1]))
  })

  it('refuses a revoked token and accepts an added token once a look-up renews the remembered answers', async () => {
    const [first, second] = await makeTokens(2)
    const { authenticate, lookUps, clock } = watched()
    const later = makeToken()
    const all = [first!.token, second!.token, later]
    const known = async () => (await Promise.all(all.map(authenticate))).map((holder) => 'scopes' in holder)
    assert.deepEqual(await known(), [true, true, false])
    await revokeToken(schema.sql, second!.id)
    await addToken(schema.sql, { token: later, workspace: 'default', scopes: ['submit'], expiresAt: null })
    clock.ms = TOKEN_REMEMBERED_MS - 1
    assert.deepEqual(await known(), [true, true, false], 'the former answers are still remembered')
    clock.ms = TOKEN_REMEMBERED_MS
    await authenticate(first!.token)
    assert.equal(lookUps.at(-1), 3, 'the look-up also renewed the other tokens')
    assert.deepEqual(await known(), [true, false, true])
  })

  it('leaves a token usable for an hour while Postgres is away', async () => {
    const [known] = await makeTokens(1)
    // The hour begins with the answer of Postgres, not with the clock.
    const clock = { ms: 2 * TOKEN_USABLE_WITHOUT_POSTGRES_MS }
    let isAway = false
    const authenticate = createAuthenticate(
      async (hashes) => (isAway ? assert.fail('away') : findTokenHolders(schema.sql, hashes)),
      { now: Date.now, steadily: () => clock.ms },
    )
    assert.ok('scopes' in (await authenticate(known!.token)))
    isAway = true
    clock.ms += TOKEN_USABLE_WITHOUT_POSTGRES_MS - 1
    assert.ok('scopes' in (await authenticate(known!.token)))
    clock.ms += TOKEN_REMEMBERED_MS
    assert.deepEqual(await authenticate(known!.token), { refused: 'unavailable', why: 'postgres' })
  })

  it('is no outage when Postgres takes long: the refusal tells both apart', async () => {
    const refusalWith = (find: (hashes: readonly string[]) => ReturnType<typeof findTokenHolders>) =>
      createAuthenticate(find, { now: Date.now, steadily: () => 0 })(makeToken())
    const busy = connectToSchema(schema.name, { statementTimeoutMs: 50 })
    const late = await refusalWith(async (hashes) => {
      await busy`select pg_sleep(10)`
      return findTokenHolders(busy, hashes)
    })
    assert.deepEqual(late, { refused: 'unavailable', why: 'postgres-late' })
    await busy.end()
    const away = connectPostgres('postgres://127.0.0.1:1/x', {
      connections: 1,
      statementTimeoutMs: 50,
      applicationName: 'test',
    })
    const refused = await refusalWith((hashes) => findTokenHolders(away, hashes))
    assert.deepEqual(refused, { refused: 'unavailable', why: 'postgres' })
    await away.end()
  })

  it('keeps a known token while 25,000 invented tokens are looked up, also when Postgres is away afterwards', async () => {
    const [known] = await makeTokens(1)
    const clock = { ms: 0 }
    let isAway = false
    const authenticate = createAuthenticate(
      async (hashes) => (isAway ? assert.fail('away') : findTokenHolders(schema.sql, hashes)),
      { now: Date.now, steadily: () => clock.ms },
    )
    assert.ok('scopes' in (await authenticate(known!.token)))
    const invented = Array.from({ length: 25_000 }, () => authenticate(makeToken()))
    for (const answer of await Promise.all(invented)) assert.deepEqual(answer, { refused: 'unauthenticated' })
    isAway = true
    clock.ms = TOKEN_REMEMBERED_MS
    assert.ok('scopes' in (await authenticate(known!.token)))
  })

  it('refuses a token that expires while it is remembered', async () => {
    const token = makeToken()
    const clock = { now: Date.now() }
    const expiresAt = new Date(clock.now + 3_600_000)
    await addToken(schema.sql, { token, workspace: 'default', scopes: ['submit'], expiresAt })
    const find = (hashes: readonly string[]) => findTokenHolders(schema.sql, hashes)
    const authenticate = createAuthenticate(find, { now: () => clock.now, steadily: () => 0 })
    assert.ok('scopes' in (await authenticate(token)))
    clock.now = expiresAt.getTime()
    assert.deepEqual(await authenticate(token), { refused: 'unauthenticated' })
  })
})
