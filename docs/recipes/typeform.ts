import process from 'node:process'
import { isSame, receive, signatureOf } from './receiver.ts'
import { idOf, numberOf, textOf, timeOf } from './values.ts'

// https://www.typeform.com/developers/webhooks/secure-your-webhooks/

const SOURCE = 'typeform'
/**
 * Hidden fields with the id of the respondent in your application and its signature. Anybody who opens the form can set hidden
 * fields, so an id counts only with its HMAC-SHA-256, in hexadecimal, which your application makes with USER_SECRET.
 */
const USER = { id: 'user_id', signature: 'user_signature' }
const { USER_SECRET = '' } = process.env
const SCALES = ['opinion_scale', 'rating', 'nps']

type Answer = {
  readonly type: string
  readonly field: { readonly id: string; readonly type: string; readonly ref?: string }
  readonly text?: string
  readonly email?: string
  readonly number?: number
}
/** https://www.typeform.com/developers/webhooks/example-payload/ */
type Payload = {
  readonly event_id: string
  readonly event_type: string
  readonly form_response: {
    readonly form_id: string
    readonly token: string
    readonly submitted_at: string
    readonly hidden?: Readonly<Record<string, unknown>> | null
    readonly definition?: { readonly title?: string }
    readonly answers?: readonly Answer[] | null
  }
}

receive<Payload>({
  isGenuine: ({ headers, bytes }, secret) =>
    isSame(
      headers['typeform-signature'],
      `sha256=${signatureOf({ algorithm: 'sha256', secret, encoding: 'base64' }, bytes)}`,
    ),
  submit: async (client, { event_id: event, event_type: type, form_response: response }) => {
    if (type !== 'form_response') return
    const { definition, hidden, form_id: form, token, submitted_at: at } = response
    const answers = response.answers ?? []
    const texts = (kind: string): string[] =>
      answers.flatMap(({ field, text }) => (field.type === kind && text ? [text] : []))
    const long = texts('long_text')
    const email = textOf(answers.find((answer) => answer.type === 'email')?.email)
    const user = signedUser(hidden ?? {})
    await client.createFeedback(
      {
        description: (long.length > 0 ? long : texts('short_text')).join('\n\n'),
        title: definition?.title,
        source: SOURCE,
        sourceId: token,
        rating: numberOf(answers.find(({ field }) => SCALES.includes(field.type))?.number),
        contactId: user,
        isExternalContactId: true,
        // It says whose words these are, and changes no contact of your application.
        contact: user === undefined && email !== undefined ? { email } : undefined,
        createdAt: timeOf(at),
        sourceData: {
          form,
          answers: Object.fromEntries(
            answers.map(({ type: kind, field, ...answer }) => [field.ref ?? field.id, answer[kind as 'text']]),
          ),
        },
      },
      { idempotencyKey: event },
    )
  },
})

const signedUser = (hidden: Readonly<Record<string, unknown>>): string | undefined => {
  const id = idOf(hidden[USER.id])
  if (id === undefined || USER_SECRET === '') return undefined
  const expected = signatureOf({ algorithm: 'sha256', secret: USER_SECRET, encoding: 'hex' }, id)
  return isSame(textOf(hidden[USER.signature]), expected) ? id : undefined
}
