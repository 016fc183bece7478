import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { account, accountIdOf, accountOf, after, feedback, idOf } from './submissions.ts'

describe('accounts by name and domain', () => {
  const A = idOf('account_external', 'a')
  const DOMAIN = idOf('account_domain', 'acme.example')
  const identified = (id: string, $name: string, $domain: string) => account({ id, properties: { $name, $domain } })

  it('are decided by the domain if both are given', () => {
    const tables = after(
      identified('a', 'Acme', 'a.example'),
      feedback({ account: { name: 'Acme', domain: 'ACME.example ' } }),
      feedback({ account: { name: 'Acme' } }),
    )
    assert.deepEqual([accountIdOf(tables, 2), accountIdOf(tables, 3)], [DOMAIN, A])
    assert.equal(accountOf(tables, DOMAIN)?.domain, 'ACME.example ')
  })

  it('are linked by a feedback with both, until an identified account claims the name', () => {
    const tables = after(
      feedback({ account: { name: 'Acme', domain: 'acme.example' } }),
      feedback({ account: { name: 'Acme', contractValue: 5 } }),
      identified('a', 'Acme', 'a.example'),
      feedback({ account: { name: 'Acme' } }),
    )
    assert.deepEqual(
      [1, 2, 4].map((number) => accountIdOf(tables, number)),
      [DOMAIN, DOMAIN, A],
    )
    assert.equal(accountOf(tables, DOMAIN)?.contract_value, 5)
    assert.equal(accountOf(tables, DOMAIN)?.updated_number, 2)
  })

  it('follow the domain of the link to the account that claims it', () => {
    const tables = after(
      feedback({ account: { name: 'Acme', domain: 'acme.example' } }),
      identified('a', 'Other', 'acme.example'),
      identified('b', 'Other', 'acme.example'),
      feedback({ account: { name: 'Acme' } }),
    )
    assert.deepEqual([accountIdOf(tables, 1), accountIdOf(tables, 4)], [A, idOf('account_external', 'b')])
  })

  it('are not linked by a reference that is decided by an id', () => {
    const tables = after(
      identified('a', 'Other', 'other.example'),
      feedback({ isExternalAccountId: true, accountId: 'a', account: { name: 'Acme', domain: 'acme.example' } }),
      feedback({ account: { name: 'Acme' } }),
    )
    assert.equal(accountIdOf(tables, 3), idOf('account_name', 'Acme'))
  })

  it('stay with the first link when the name is linked again', () => {
    const tables = after(
      feedback({ account: { name: 'Acme' } }),
      feedback({ account: { name: 'Acme', domain: 'acme.example' } }),
      feedback({ account: { name: 'Acme', domain: 'new.example' } }),
      feedback({ account: { name: 'Acme' } }),
    )
    const NEW = idOf('account_domain', 'new.example')
    assert.deepEqual(
      [1, 2, 3, 4].map((number) => accountIdOf(tables, number)),
      [DOMAIN, DOMAIN, NEW, NEW],
    )
  })

  it('are equal for names that differ in spaces and normal form, and for domains that are URLs', () => {
    const names = ['Soci\u00e9t\u00e9 A', ' Socie\u0301te\u0301\u00a0\u00a0A\u200b']
    const domains = ['acme.example', 'https://www.ACME.example/pricing', 'acme.example.']
    const tables = after(
      ...names.map(($name) => feedback({ account: { name: $name } })),
      ...domains.map(($domain) => feedback({ account: { domain: $domain } })),
      feedback({ account: { name: 'SOCI\u00c9T\u00c9 A' } }),
    )
    assert.deepEqual(
      new Set(tables.account.map(({ name, domain }) => name ?? domain)),
      new Set([names[0], domains[0], 'SOCI\u00c9T\u00c9 A']),
    )
  })

  it('keep a claimed name and domain when an older identify claims them', () => {
    const dated = (id: string, $updatedAt: string) =>
      account({ id, properties: { $name: 'Acme', $domain: 'acme.example', $updatedAt } })
    const tables = after(
      dated('b', '2026-02-02T00:00:00Z'),
      dated('a', '2026-02-02T00:00:00Z'),
      dated('b', '2026-01-01T00:00:00Z'),
      feedback({ account: { domain: 'acme.example' } }),
      feedback({ account: { name: 'Acme' } }),
    )
    assert.deepEqual([accountIdOf(tables, 4), accountIdOf(tables, 5)], [A, A])
  })
})
