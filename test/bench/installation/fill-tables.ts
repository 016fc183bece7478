import * as v from 'valibot'
import { feedbackRecord } from '../../../contract/feedback-record.ts'
import type { JsonValue } from '../../../contract/json.ts'
import { feedbackReferences } from '../../../contract/identity/reference.ts'
import { feedbackBody, referencesOfPerson } from '../bodies.ts'
import type { Installation } from './installation.ts'

export type Stock = {
  readonly feedback: number
  /** Numbered from 0; feedback that is drained later comes from the same people. */
  readonly contacts: number
  /** How many of the contacts, the last ones, have how much feedback; the others share the rest. */
  readonly heavy: { readonly contacts: number; readonly feedback: number }
}

type Filled = Pick<Installation, 'sql' | 'workspaceId' | 'hashKey'>

const PEOPLE_PER_STEP = 5_000
/** Acceptance numbers of what is stored: from 2020 on, with room for the feedback of one person between two of them. */
const FIRST_NUMBER = 1_577_836_800_000_000
const NUMBERS_PER_PERSON = 1_000_000

/** Stores feedback, contacts and accounts as though all of it had been submitted long ago, by a few large statements. */
export const fillTables = async (installation: Filled, stock: Stock): Promise<void> => {
  const { sql } = installation
  await sql`drop table if exists person`
  await sql`
    create unlogged table person (
      place int, number bigint, contact uuid, contact_ref jsonb, account uuid, account_name uuid, account_ref jsonb
    )`
  for (let first = 0; first < stock.contacts; first += PEOPLE_PER_STEP) {
    const count = Math.min(PEOPLE_PER_STEP, stock.contacts - first)
    const people = Array.from({ length: count }, (_, place) => personRow(installation, first + place))
    await sql`
      insert into person
      select * from jsonb_to_recordset(${sql.json(people)}) as p (
        place int, number bigint, contact uuid, contact_ref jsonb, account uuid, account_name uuid, account_ref jsonb
      )`
  }
  await storeIdentities(installation)
  await storeFeedback(installation, stock)
  await sql`drop table person`
  const tables = await sql<{ name: string }[]>`
    select quote_ident(tablename) as name from pg_tables where schemaname = current_schema()`
  await sql.unsafe(`vacuum (analyze) ${tables.map(({ name }) => name).join(', ')}`)
  await sql`checkpoint`
}

const personRow = ({ hashKey, workspaceId }: Filled, place: number): Record<string, JsonValue> => {
  const number = FIRST_NUMBER + place * NUMBERS_PER_PERSON
  const record = v.parse(feedbackRecord, { description: '', ...referencesOfPerson(place) })
  const { contact, account } = feedbackReferences({ hashKey, workspaceId, number, recordId: workspaceId }, record)
  return {
    place,
    number,
    contact: contact!.weak!,
    contact_ref: contact,
    account: account!.weak!,
    account_name: account!.nameKey!,
    account_ref: account,
  }
}

const storeIdentities = async ({ sql, workspaceId }: Filled): Promise<void> => {
  await sql`
    insert into contact (workspace_id, id, facts, first_number)
    select ${workspaceId}, contact, contact_ref -> 'given', number from person`
  await sql`
    insert into account (workspace_id, id, facts, first_number)
    select distinct on (account) ${workspaceId}::uuid, account, account_ref -> 'given', number from person
    order by account, number`
  await sql`
    insert into identity_key (workspace_id, id, kind, said_from, exists_from, subject_id)
    select ${workspaceId}::uuid, contact, 'contact_email', number, number, contact from person
    union all
    select ${workspaceId}, account, 'account_domain', min(number), min(number), account from person group by account
    union all
    select ${workspaceId}, account_name, 'account_name', null, min(number), account_name from person group by account_name`
}

/** Ids are as random as the keyed hashes of records with a `sourceId`. */
const storeFeedback = async ({ sql, workspaceId }: Filled, stock: Stock): Promise<void> => {
  const { feedback, contacts, heavy } = stock
  const light = contacts - heavy.contacts
  const lightFeedback = feedback - heavy.contacts * heavy.feedback
  const body = feedbackBody(0, { people: contacts })
  await sql`
    insert into feedback (
      workspace_id, id, description, tags, tags_generated, rating, source, source_id, number, first_number,
      contact_id, account_id, contact_ref, account_ref, contact_given, account_given, project_given)
    select ${workspaceId}, gen_random_uuid(), ${body.description}, ${body.tags}::text[], false, n % 6, ${body.source},
      'stored-' || place || '-' || n, number + n, number + n,
      contact, account, contact_ref, account_ref, true, true, false
    from person, generate_series(
      0,
      case
        when place >= ${light} then ${heavy.feedback}::int
        else ${Math.floor(lightFeedback / light)}::int + (place < ${lightFeedback % light})::int
      end - 1
    ) as n`
  // A link that says what the one before it said is not stored.
  await sql`
    insert into identity_claim (workspace_id, key_id, number, target_id, link)
    select ${workspaceId}::uuid, account_name, min(number), account, true from person group by account_name, account`
  await sql`
    insert into submission (workspace_id, id, acceptance_number, operation, state, attempts, finished_at)
    select ${workspaceId}, uuidv7(), number, 'create_feedback', 'applied', 1, now() from feedback
    where workspace_id = ${workspaceId}`
  await sql`
    select count_tags(${workspaceId}, jsonb_object_agg(t.tag, t.uses))
    from (select tag, count(*) as uses from feedback, unnest(tags) as tag group by tag) as t`
}
