import * as v from 'valibot'
import { NO_PLACEHOLDER } from '../../contract/fields.ts'
import {
  accountIdKey,
  canonicalDomain,
  canonicalEmail,
  canonicalName,
  contactIdKey,
  type Realm,
} from '../../contract/identity/keys.ts'
import { isPlaceholder } from '../../contract/identity/placeholders.ts'
import { identifier } from '../../contract/query-fields.ts'
import type { ListRequest } from '../../db/reads/lists.ts'
import type { RecordKind } from '../../contract/record-schemas.ts'
import { isRefusal, type Refusal } from '../http/refusal.ts'
import { FEEDBACK_PARAMETERS, LIST_PARAMETERS, readQuery } from './parameters.ts'

/** A key that is compared in its canonical form. */
const canonical = (form: (given: string) => string | undefined, expected: string, description: string) =>
  v.pipe(
    identifier(description),
    v.check((value) => form(value) !== undefined, expected),
    v.transform((value) => form(value)!),
  )

const EXTERNAL = {
  externalId: v.pipe(
    identifier('Records with this external id, in any source.'),
    v.check((value) => !isPlaceholder(value), NO_PLACEHOLDER),
  ),
  source: identifier('With `externalId`: records that have the external id in this source.'),
} as const

export const CUSTOMER_PARAMETERS = {
  ...LIST_PARAMETERS,
  ...EXTERNAL,
  email: canonical(
    canonicalEmail,
    'an email address',
    'Records with this email, in its canonical form. Several records can have it.',
  ),
} as const

export const ACCOUNT_PARAMETERS = {
  ...LIST_PARAMETERS,
  ...EXTERNAL,
  domain: canonical(
    canonicalDomain,
    'a domain, not blank and not a placeholder',
    'The record that this domain means, in its canonical form.',
  ),
  name: canonical(
    canonicalName,
    'a name, not blank and not a placeholder',
    'The record that this name means, in its canonical form.',
  ),
} as const

type Paging = {
  limit?: number | undefined
  order?: 'newest' | 'oldest' | undefined
  next?: string | undefined
}
type ListQuery = Paging & Pick<ListRequest, 'filters'>

/** The parameters of the list of a kind. */
export const readListQuery = (request: Request, kind: RecordKind, realm: Realm): ListQuery | Refusal => {
  switch (kind) {
    case 'feedback':
      return withFilters(readQuery(request, FEEDBACK_PARAMETERS))
    case 'customer':
      return withKeys(readQuery(request, CUSTOMER_PARAMETERS), (externalId) => contactIdKey(realm, externalId))
    case 'account':
      return withKeys(readQuery(request, ACCOUNT_PARAMETERS), (externalId) => accountIdKey(realm, externalId))
    case 'project':
    case 'theme':
    case 'alert':
    case 'digest':
    case 'feedback_category':
    case 'conversation':
    case 'message':
      return withFilters(readQuery(request, LIST_PARAMETERS))
  }
}

type Given = Paging & ListRequest['filters']

const withFilters = (query: Given | Refusal): ListQuery | Refusal => {
  if (isRefusal(query)) return query
  const { limit, order, next, ...filters } = query
  return { limit, order, next, filters }
}

const withKeys = (
  query: (Given & { externalId?: string }) | Refusal,
  keyOf: (externalId: string) => string,
): ListQuery | Refusal => {
  if (isRefusal(query)) return query
  const { externalId, ...rest } = query
  if (externalId === undefined) return rest.source === undefined ? withFilters(rest) : SOURCE_ALONE
  return withFilters({ ...rest, externalKey: keyOf(externalId) })
}

const SOURCE_ALONE: Refusal = {
  refused: 'invalid',
  problems: [{ path: 'source', message: 'source must come with externalId' }],
}
