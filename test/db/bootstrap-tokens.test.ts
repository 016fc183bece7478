import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { tokenHash } from '../../contract/token-format.ts'
import { addToken, findTokenHolders, listTokens, revokeToken, setBootstrapTokens } from '../../db/tokens.ts'
import { freshSchema } from '../support/schema.ts'

const schema = await freshSchema()
after(() => schema.drop())

describe('bootstrap tokens', () => {
  const newToken = (): string => randomBytes(16).toString('hex')
  const scopesOf = async (token: string): Promise<string[] | undefined> => {
    const hash = tokenHash(token)
    return (await findTokenHolders(schema.sql, [hash])).get(hash)?.scopes
  }

  it('stay at a start without the variables; a start with another token replaces and reports the former', async () => {
    const [access, admin, newAccess] = [newToken(), newToken(), newToken()]
    assert.deepEqual(await setBootstrapTokens(schema.sql, { access, admin }), [])
    assert.deepEqual(await setBootstrapTokens(schema.sql, {}), [])
    assert.deepEqual(await scopesOf(access), ['submit'])
    assert.deepEqual(await scopesOf(admin), ['admin', 'operator'])
    assert.deepEqual(await setBootstrapTokens(schema.sql, { access: newAccess }), ['access'])
    assert.equal(await scopesOf(access), undefined)
    assert.deepEqual(await scopesOf(newAccess), ['submit'])
    assert.deepEqual(await scopesOf(admin), ['admin', 'operator'])
  })

  it('do not replace a token with the same scopes that a command has made', async () => {
    const [access, newAccess, made] = [newToken(), newToken(), newToken()]
    await addToken(schema.sql, { token: made, workspace: 'default', scopes: ['submit'], expiresAt: null })
    await setBootstrapTokens(schema.sql, { access })
    await setBootstrapTokens(schema.sql, { access: newAccess })
    assert.equal(await scopesOf(access), undefined)
    assert.deepEqual(await scopesOf(made), ['submit'])
  })

  it('are valid again at the start after a revocation if the environment still has them', async () => {
    const access = newToken()
    await setBootstrapTokens(schema.sql, { access })
    for (const { id } of await listTokens(schema.sql)) await revokeToken(schema.sql, id)
    assert.equal(await scopesOf(access), undefined)
    assert.deepEqual(await setBootstrapTokens(schema.sql, { access }), [])
    assert.deepEqual(await scopesOf(access), ['submit'])
  })

  it('are valid for the default workspace, even if a command made them for another purpose', async () => {
    const admin = newToken()
    await addToken(schema.sql, { token: admin, workspace: null, scopes: ['operator'], expiresAt: new Date(0) })
    await setBootstrapTokens(schema.sql, { admin })
    assert.deepEqual(await scopesOf(admin), ['admin', 'operator'])
    const stored = (await listTokens(schema.sql)).find(({ scopes }) => scopes.includes('operator'))
    assert.equal(stored?.workspace, 'default')
    assert.equal(stored.expiresAt, null)
    assert.deepEqual(await setBootstrapTokens(schema.sql, { admin: newToken() }), ['admin'])
    assert.equal(await scopesOf(admin), undefined)
  })
})
