import type { JsonObject } from '../../contract/json.ts'
import {
  MAX_BATCH_BODY_BYTES,
  MAX_BODY_BYTES,
  MAX_CONVERSATION_BODY_BYTES,
  MAX_CONVERSATION_CONTACTS,
  MAX_CONVERSATION_MESSAGES,
  MAX_DEPTH_LEVELS,
  MAX_IDENTIFIER_CHARACTERS,
  MAX_METADATA_MEMBER_BYTES,
  MAX_OBJECT_MEMBERS,
  MAX_REPORTED_PROBLEMS,
} from '../../contract/limits.ts'
import { PLACEHOLDER_FORMS, PLACEHOLDER_WORDS } from '../../contract/identity/placeholders.ts'
import { CAPABILITIES } from '../capabilities.ts'
import type { SendOpenFile } from '../page-files.ts'
import { schemas } from './schemas.ts'
import { PARAMETERS, RESPONSE_HEADERS } from './headers.ts'
import type { OpenApiPart } from './openapi-part.ts'
import { PATHS_OUTSIDE } from './operator-paths.ts'
import { PATHS_OF_SUBMISSIONS } from './paths.ts'
import { PATHS_OF_READS } from './reading-paths.ts'
import { refusalComponents } from './refusals.ts'

/** The version of the interface. Its first number is the one in the base path, `v1`. */
const INTERFACE_VERSION = '1.0.5'

const KIB = 1024
const MIB = 1024 * KIB

/** At `/docs` only the titles of the notes are open, so that the operations follow soon. */
const descriptionOf = (basePath: string): string =>
  `
Accepts customer feedback and conversations, with the contacts and accounts behind them. The service
processes them in the background and stores them in tables that people query. The first request:

    curl -i "$FEEDBACK_URL${basePath}/feedbacks" \\
      -H "Authorization: Bearer $ACCESS_TOKEN" -H 'Content-Type: application/json' \\
      -d '{"description": "Exporting a report takes too long", "contact": {"email": "ada@acme.example"}}'

To send a request from this page, press _Authorize_ and enter a token. Then press _Try it out_ at an
operation.

${NOTES.map(([title, text]) => `<details><summary>${title}</summary>\n\n${text}\n\n</details>`).join('\n')}
`.trim()

/** What holds for all operations. The last note is about requests that no HTTP library sends. */
const NOTES: readonly (readonly [title: string, text: string])[] = [
  [
    'Tokens',
    `Operations require \`Authorization: Bearer <ACCESS_TOKEN>\`. An access token belongs to one
workspace, and sees and changes only that workspace. Reading requires a token of scope \`read\` or
an admin token. Correcting feedback requires scope \`edit\` or an admin token. Purging requires an
admin token.`,
  ],
  [
    'Acceptance',
    `A 2xx answer to a single submission means that the submission is kept and will be processed. Its
\`Submission-Id\` leads to a receipt with its state. With \`Prefer: wait=N\` the answer waits up to
N seconds until the submission is no longer queued. A valid batch gets a 200 even if all its items
are refused. Each result of a batch has a status of its own, and for an accepted item the id of the
submission. With an \`Idempotency-Key\` a request can be repeated without being applied twice. The
submissions of a workspace take effect one after the other, in the order in which they were
accepted: a purge finds a contact that was identified just before it.`,
  ],
  [
    'Keys of records',
    `Keys of contacts, accounts and projects are compared in a canonical form, and stored as they were
sent. External ids and sources are compared exactly. Emails, names and domains are in Unicode NFC,
without format characters, and without white space at both ends. An email is the bare address, with
ASCII letters in lower case if it has an \`@\`. A name has its white space reduced to single spaces,
and keeps its case. A domain is the host of a URL, without \`www.\` and a final dot, with ASCII
letters in lower case if it has a dot. An email is a key only if it is an address: one \`@\` with
something on both sides, neither of them a placeholder. Another text is stored, and links no
records. An email, name or domain that is blank or a placeholder counts as absent. An external id or
a \`sourceId\` that is blank or a placeholder is a 400 where a contact or account is identified,
purged or named by a feedback.`,
  ],
  [
    'Placeholders',
    `Placeholders stand for a missing value, in upper or lower case:

${[...PLACEHOLDER_FORMS, `one of ${PLACEHOLDER_WORDS.map((word) => `\`${word}\``).join(', ')}`].map((form) => `- ${form}`).join('\n')}`,
  ],
  [
    'Limits of bodies',
    `Bodies are JSON in UTF-8, plain or gzip, at most ${MAX_BODY_BYTES / KIB} KiB (conversations
${MAX_CONVERSATION_BODY_BYTES / MIB} MiB) unless configured otherwise, batches at most
${MAX_BATCH_BODY_BYTES / MIB} MiB, counted after decompression. They are nested at most
${MAX_DEPTH_LEVELS} levels. A conversation has at most
${MAX_CONVERSATION_MESSAGES.toLocaleString('en')} messages and
${MAX_CONVERSATION_CONTACTS.toLocaleString('en')} contacts. Identifiers, sources, emails, domains
and the names of accounts and projects have at most ${MAX_IDENTIFIER_CHARACTERS} characters. In
\`properties\` and \`sourceData\` no object has more than ${MAX_OBJECT_MEMBERS.toLocaleString('en')}
members, at any depth, before and after unflattening. A member of the metadata of a contact or
account has at most ${MAX_METADATA_MEMBER_BYTES / KIB} KiB of JSON, with its name. Members that are
not described here are ignored, except where the description says that any key is stored; with
\`Prefer: handling=strict\` they are refused.`,
  ],
  [
    'Errors',
    `Errors are JSON: \`{"error": string}\`, and in a 400 \`error\` is an array of at most
${MAX_REPORTED_PROBLEMS} problems, each with \`message\` and \`path\`. A path that does not exist is
answered with 404. Each answer of the service carries \`X-Request-Id\`.`,
  ],
  [
    'Answers of the runtime',
    `The runtime itself answers a request that it cannot read as HTTP, without JSON and without
\`X-Request-Id\`, or closes the connection. Nothing of such a request is accepted. On Bun: 400 for a
malformed head, length or chunk, for trailer fields and for anything else behind a body; 413 for an
extension of a chunk beyond 16 KB; 431 for a head beyond 16 KB or about 200 headers; 505 for a
version other than 1.0 and 1.1; a closed connection for an unknown method, a second request before
the first is answered, and a body that is cut off. For trailer fields that \`Trailer\` announces,
the service itself answers 400 and says why. On Deno: 400 for a malformed head, length or version
and for a head beyond 64 KB or 128 headers; a closed connection for a malformed chunk. One
exception: on Bun, bytes may follow a body in a later packet, after the acceptance of its submission
and before the answer. Then the client gets 400 or a closed connection, although the submission is
stored.`,
  ],
]

/** What all capabilities add. */
const ADDED = CAPABILITIES.flatMap(({ reference }) => reference ?? []).reduce<OpenApiPart>(
  (all, part) => ({
    paths: { ...all.paths, ...part.paths },
    webhooks: { ...all.webhooks, ...part.webhooks },
    parameters: { ...all.parameters, ...part.parameters },
    refusals: { ...all.refusals, ...part.refusals },
    schemas: { ...all.schemas, ...part.schemas },
  }),
  { paths: {}, webhooks: {}, parameters: {}, refusals: {}, schemas: {} },
)

/** The same path can have a submission and a read. */
const allPaths = (): JsonObject => {
  const paths: Record<string, JsonObject> = { ...PATHS_OF_SUBMISSIONS }
  for (const [path, operations] of Object.entries(PATHS_OF_READS)) paths[path] = { ...paths[path], ...operations }
  return { ...paths, ...ADDED.paths }
}

const below = (basePath: string, paths: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(paths).map(([path, operations]) => [`${basePath}${path}`, operations]))

/** The OpenAPI 3.1 document. Submissions and reads have paths below `basePath`. */
export const openApiDocument = async (basePath: string): Promise<JsonObject> => ({
  openapi: '3.1.0',
  info: {
    title: 'Feedback Insights',
    version: INTERFACE_VERSION,
    summary: 'Submit and read customer feedback, conversations, contacts and accounts.',
    description: descriptionOf(basePath),
    contact: { name: 'The operators of this installation' },
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '.', description: 'The service that this document comes from.' }],
  security: [{ bearer: [] }],
  tags: [
    { name: 'Submissions', description: 'Make submissions, and look up their receipts.' },
    { name: 'Reading', description: 'Read records, and follow their changes.' },
    { name: 'Operators', description: 'For the operators of the service.' },
  ],
  // Each path repeats the base path, since many generators of clients ignore a `servers` entry of a
  // path.
  paths: { ...below(basePath, allPaths()), ...PATHS_OUTSIDE },
  webhooks: ADDED.webhooks,
  components: {
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', description: 'An access token of a workspace, or an operator token.' },
      operator: {
        type: 'http',
        scheme: 'basic',
        description: 'An operator token as the password; the name does not matter.',
      },
    },
    parameters: { ...PARAMETERS, ...ADDED.parameters },
    headers: RESPONSE_HEADERS,
    responses: await refusalComponents(ADDED.refusals),
    schemas: schemas(ADDED.schemas),
  },
})

/** GET /openapi.json. Only the first request makes the document: most processes never need it. */
export const openApiPage = (basePath: string, sendFile: SendOpenFile): (() => Promise<Response>) => {
  let bytes: Promise<Uint8Array<ArrayBuffer>> | undefined
  return async () => {
    bytes ??= openApiDocument(basePath).then((document) => new TextEncoder().encode(JSON.stringify(document)))
    return sendFile('openapi.json', await bytes, {})
  }
}
