import * as v from 'valibot'
import { isDateTime, isUnset } from './date-time.ts'
import { checkFreeMembers, type FreeMember, KEPT_NUMBER, type Violation } from './free-members.ts'
import { isPlaceholder } from './identity/placeholders.ts'
import { isJsonObject, type JsonObject } from './json.ts'
import { MAX_AMOUNT, MAX_IDENTIFIER_CHARACTERS, MAX_REPORTED_PROBLEMS, MIN_AMOUNT } from './limits.ts'
import { MISSING } from './check-body.ts'

// The kinds of field that the interface knows. Every message but `MISSING` says the expected form:
// it ends a sentence that begins with the path and "must be". No message quotes the value. After a
// `v.check`, `v.metadata` repeats as much of its rule as JSON Schema can say.

export const text = v.string('a string')
export const flag = v.boolean('true or false')
/** A field or an object with its description in the reference. */
export const about = <const Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  v.pipe(schema, v.description(description))
/** Asks for unflattening of the member with this name. */
export const unflattenFlag = (member: string) =>
  about(
    v.nullish(flag),
    'When true, top-level keys with dots become nested objects before storing: `a.b` turns into `b` inside `a`. A key ' +
      `that cannot be nested stays as it was, and so does a key that begins with \`$\`. Concerns \`${member}\`.`,
  )
/**
 * A contract value in an open object. This schema checks only the bounds, since `checkFreeMembers`
 * refuses the numbers of such an object that a double does not keep.
 */
export const openAmount = v.pipe(
  v.number('a number'),
  v.check(
    (value) => !Number.isFinite(value) || Math.abs(value) <= MAX_AMOUNT,
    `a number from -${MAX_AMOUNT.toExponential()} to ${MAX_AMOUNT.toExponential()}`,
  ),
  v.check(
    (value) => value === 0 || !(Math.abs(value) < MIN_AMOUNT),
    `0 or at least ${MIN_AMOUNT.toExponential()} away from it`,
  ),
  v.metadata({ minimum: -MAX_AMOUNT, maximum: MAX_AMOUNT }),
)
export const amount = v.pipe(openAmount, v.finite(KEPT_NUMBER))
export const dateTime = v.pipe(
  text,
  v.check(isDateTime, 'an existing date-time of RFC 3339 with an offset, such as 2026-01-31T09:30:00Z'),
  v.check((value) => !isUnset(value), 'a time that is known: 0001-01-01 means that none is set'),
  v.metadata({ format: 'date-time' }),
)

/** Continues the description of a time, such as `When the contact was created`. */
export const SOURCE_TIME =
  'in the system that the record comes from: RFC 3339 with an offset, years 1 to 9999. Kept as UTC.'

/**
 * Characters are code points, as in Postgres and JSON Schema. The bound also holds in Unicode NFC,
 * the form of keys, in which some characters become three: a longer key may not fit in an index
 * row.
 */
export const textOfAtMost = (characters: number) =>
  v.pipe(
    text,
    v.check(
      (value) => isWithin(value, characters) && isWithin(value.normalize('NFC'), characters),
      `at most ${characters} characters long`,
    ),
    v.metadata({ maxLength: characters }),
  )

const isWithin = (value: string, characters: number): boolean =>
  value.length <= characters || [...value].length <= characters

export const ownId = v.pipe(text, v.uuid('an own id'), v.toLowerCase())

/** A name, an email or a domain. It may be empty. */
export const shortText = textOfAtMost(MAX_IDENTIFIER_CHARACTERS)
export const identifier = v.pipe(shortText, v.nonEmpty('a string that is not empty'))

/** The source of a record. A blank source counts as absent. */
export const sourceOrNull = v.pipe(
  shortText,
  v.transform((value) => (value.trim() === '' ? null : value)),
)

/**
 * The expected form of an external id. With a placeholder, the bug of one client would unite
 * strangers, and a purge would remove them all.
 */
export const NO_PLACEHOLDER = 'an id, not blank and not a placeholder such as null or undefined'
export const externalId = v.pipe(
  identifier,
  // `identifier` reports an empty id.
  v.check((value) => value === '' || !isPlaceholder(value), NO_PLACEHOLDER),
  v.metadata({ pattern: '\\S' }),
)

/**
 * An array of at most `most` items; `items` names them. The check stops after `most` items, or with
 * as many problems as a response reports: Valibot keeps hundreds of bytes for each bad item of two
 * bytes.
 */
export const list = <const Item extends v.GenericSchema>(item: Item, most: number, items: string) => {
  const array = v.array(item, 'an array')
  return v.pipe(
    anythingTypedAs<v.InferInput<typeof array>>(),
    v.check((value) => Array.isArray(value), 'an array'),
    v.rawTransform(({ dataset, addIssue }) => {
      const given = dataset.value as unknown[]
      const checked: v.InferOutput<Item>[] = []
      let problems = 0
      for (let key = 0; key < given.length && key < most && problems < MAX_REPORTED_PROBLEMS; key++) {
        const place = { type: 'array', origin: 'value', input: given, key, value: given[key] } as const
        const { output, issues = [] } = v.safeParse(item, place.value)
        problems += issues.length
        for (const issue of issues) addIssue(issueAt([place, ...(issue.path ?? [])], issue))
        checked.push(output)
      }
      if (given.length > most) addIssue({ message: `an array of at most ${most} ${items}` })
      return checked
    }),
    v.metadata({ array, maxItems: most }),
  )
}

/** A problem of a part, as an issue of the whole. */
const issueAt = (
  [first, ...others]: readonly v.IssuePathItem[],
  { message, expected, received, input }: v.BaseIssue<unknown>,
) => ({
  message,
  expected: expected ?? '',
  received,
  input,
  ...(first && { path: [first, ...others] as [v.IssuePathItem, ...v.IssuePathItem[]] }),
})

/** Free key-value pairs, kept as they are. Keys may have any name. */
export const freeObject = v.custom<JsonObject>(isJsonObject, 'an object')

type ObjectRules = {
  /** What the object is, for the reference. */
  readonly description?: string
  /** The members that hold free objects. */
  readonly free?: readonly FreeMember[]
  /** Checks rules that involve several members. */
  readonly check?: (record: JsonObject) => Violation[]
  /**
   * For a reference: the members that can name its contact, account or project. `handling=strict`
   * refuses a reference in which all of these are absent, blank or placeholders.
   */
  readonly named?: readonly string[]
}

/**
 * An object of known members; other members are ignored. The bounds of `free` members are checked
 * here, since another member may say how they are stored. An array is not an object, though
 * `v.object` takes it for one.
 */
export const object = <const Entries extends v.ObjectEntries>(
  entries: Entries,
  { description, free = [], check = () => [], named }: ObjectRules = {},
) =>
  v.pipe(
    anythingTypedAs<v.InferInput<v.ObjectSchema<Entries, undefined>>>(),
    v.check(isJsonObject, 'an object'),
    v.object(entries, MISSING),
    v.rawCheck(({ dataset, addIssue }) => {
      // Unlike `v.check`, this also runs if a member is wrong, so that a response reports all
      // problems.
      const record = dataset.value as JsonObject
      for (const { path, expected } of [...checkFreeMembers(record, free), ...check(record)]) {
        const [first, ...others] = path.map(
          (key) => ({ type: 'unknown', origin: 'value', input: record, key, value: null }) as const,
        )
        addIssue({ message: expected, expected, ...(first && { path: [first, ...others] }) })
      }
    }),
    v.metadata({ named, description }),
  )

/** Accepts any value. With the type `Input`, the compiler checks bodies that code writes. */
const anythingTypedAs = <Input>() => v.unknown() as unknown as v.GenericSchema<Input, unknown>

/** An object that keeps all members. Only the known members are checked. */
export const openObject = <const Entries extends v.ObjectEntries>(known: Entries) => {
  const schema = v.object(known, MISSING)
  return v.pipe(
    freeObject as unknown as v.GenericSchema<JsonObject & v.InferInput<v.ObjectSchema<Entries, undefined>>, JsonObject>,
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return
      for (const issue of v.safeParse(schema, dataset.value).issues ?? []) addIssue(issueAt(issue.path ?? [], issue))
    }),
    v.metadata({ known: schema }),
  )
}
