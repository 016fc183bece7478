import process from 'node:process'
import { isSame, receive, signatureOf } from './receiver.ts'
import { idOf, keyOf, numberOf, objectOf, objectsOf, subjectOf, textOf, timeOf } from './values.ts'

// https://www.typeform.com/developers/webhooks/secure-your-webhooks/

const SOURCE = 'typeform'
/**
 * Hidden fields of the form: the respondent's id in your application, and its signature. Your
 * application signs the id with HMAC-SHA-256 under USER_SECRET, in hexadecimal. The recipe ignores
 * an id without this signature, since a visitor can set hidden fields.
 */
const USER = { id: 'user_id', signature: 'user_signature' }
const { USER_SECRET = '' } = process.env
const SCALES = ['opinion_scale', 'rating', 'nps']

/** https://www.typeform.com/developers/webhooks/example-payload/ */
type Payload = {
  readonly event_id?: unknown
  readonly event_type: unknown
  readonly form_response?: unknown
}

receive<Payload>({
  isGenuine: ({ headers, bytes }, secret) =>
    isSame(
      headers['typeform-signature'],
      `sha256=${signatureOf({ algorithm: 'sha256', secret, encoding: 'base64' }, bytes)}`,
    ),
  submit: async (client, { event_id: event, event_type: type, form_response }) => {
    if (type !== 'form_response') return
    const response = subjectOf(form_response)
    const answers = objectsOf(response['answers']).map((answer) => ({ answer, field: objectOf(answer['field']) }))
    const texts = answers.flatMap(({ answer, field }) => {
      const other = otherOf(answer)
      const words = textOf(answer['text']) ?? other
      return words === undefined ? [] : [{ words, isLong: field['type'] === 'long_text' || other !== undefined }]
    })
    const long = texts.filter(({ isLong }) => isLong)
    const [rating] = answers.flatMap(({ answer, field }) =>
      SCALES.includes(String(field['type'])) ? (numberOf(answer['number']) ?? []) : [],
    )
    const [email] = answers.flatMap(({ answer }) => idOf(answer['email']) ?? [])
    const user = signedUser(objectOf(response['hidden']))
    await client.createFeedback(
      {
        description: (long.length > 0 ? long : texts).map(({ words }) => words).join('\n\n'),
        title: textOf(objectOf(response['definition'])['title']),
        source: SOURCE,
        sourceId: idOf(response['token']) ?? idOf(event),
        rating,
        contactId: user,
        isExternalContactId: true,
        // The email names the author, and changes no contact of your application.
        contact: user === undefined && email !== undefined ? { email } : undefined,
        createdAt: timeOf(response['submitted_at']) ?? timeOf(response['landed_at']),
        sourceData: {
          form: response['form_id'],
          answers: Object.fromEntries(
            answers.map(({ answer, field }, at) => [
              idOf(field['ref']) ?? idOf(field['id']) ?? `answer ${at + 1}`,
              answer[String(answer['type'])] ?? { ...answer, field: undefined },
            ]),
          ),
        },
      },
      { idempotencyKey: keyOf(event) },
    )
  },
})

/** The words that a person wrote at "Other", in place of a choice or beside choices. */
const otherOf = ({ choice, choices }: Readonly<Record<string, unknown>>): string | undefined =>
  textOf(objectOf(choice)['other']) ?? textOf(objectOf(choices)['other'])

const signedUser = (hidden: Readonly<Record<string, unknown>>): string | undefined => {
  const id = idOf(hidden[USER.id])
  if (id === undefined || USER_SECRET === '') return undefined
  const expected = signatureOf({ algorithm: 'sha256', secret: USER_SECRET, encoding: 'hex' }, id)
  return isSame(textOf(hidden[USER.signature]), expected) ? id : undefined
}
