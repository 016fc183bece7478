import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { account, accountIdsOf, accountOf, after, feedback, idOf } from './submissions.ts'

describe('accounts by name and domain', () => {
  const A = idOf('account_external', 'a')
  const DOMAIN = idOf('account_domain', 'acme.example')
  const identified = (id: string, $name: string, $domain: string) => account({ id, properties: { $name, $domain } })

  it('are found by the domain if a reference gives both', () => {
    const tables = after(
      identified('a', 'Acme', 'a.example'),
      feedback({ account: { name: 'Acme', domain: 'ACME.example ' } }),
      feedback({ account: { name: 'Acme' } }),
    )
    assert.deepEqual(accountIdsOf(tables, 2, 3), [DOMAIN, A])
    assert.equal(accountOf(tables, DOMAIN)?.domain, 'ACME.example ')
  })

  it('are linked by a feedback with both, until an identified account claims the name', () => {
    const tables = after(
      feedback({ account: { name: 'Acme', domain: 'acme.example' } }),
      feedback({ account: { name: 'Acme', contractValue: 5 } }),
      identified('a', 'Acme', 'a.example'),
      feedback({ account: { name: 'Acme' } }),
    )
    assert.deepEqual(accountIdsOf(tables, 1, 2, 4), [DOMAIN, DOMAIN, A])
    assert.equal(accountOf(tables, DOMAIN)?.contract_value, 5)
    assert.equal(accountOf(tables, DOMAIN)?.updated_number, 2)
  })

  it('are not linked by a reference with a known id', () => {
    const tables = after(
      identified('a', 'Other', 'other.example'),
      feedback({ isExternalAccountId: true, accountId: 'a', account: { name: 'Acme', domain: 'acme.example' } }),
      feedback({ account: { name: 'Acme' } }),
    )
    assert.deepEqual(accountIdsOf(tables, 3), [idOf('account_name', 'Acme')])
  })

  it('keep their feedback when their name is linked to another domain', () => {
    const tables = after(
      feedback({ account: { name: 'Acme' } }),
      feedback({ account: { name: 'Acme', domain: 'acme.example' } }),
      feedback({ account: { name: 'Acme', domain: 'new.example' } }),
      feedback({ account: { name: 'Acme' } }),
    )
    const NEW = idOf('account_domain', 'new.example')
    assert.deepEqual(accountIdsOf(tables, 1, 2, 3, 4), [DOMAIN, DOMAIN, NEW, NEW])
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
    assert.deepEqual(accountIdsOf(tables, 4, 5), [A, A])
  })
})
