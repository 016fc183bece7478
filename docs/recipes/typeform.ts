import { isSame, receive, signatureOf, timeOf } from './receiver.ts'

// https://www.typeform.com/developers/webhooks/secure-your-webhooks/

const SOURCE = 'typeform'
/** A hidden field of this name has the id of the respondent in your application. */
const USER = { field: 'user_id', source: 'app' }
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
    readonly hidden?: Readonly<Record<string, string>>
    readonly definition: { readonly title: string }
    readonly answers?: readonly Answer[]
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
    const { answers = [], definition, hidden, form_id: form, token, submitted_at: at } = response
    const texts = (kind: string): string[] =>
      answers.flatMap(({ field, text }) => (field.type === kind && text ? [text] : []))
    const long = texts('long_text')
    const email = answers.find((answer) => answer.type === 'email')?.email
    const user = hidden?.[USER.field]
    if (user !== undefined)
      await client.identifyContact(
        { id: user, source: USER.source, properties: email === undefined ? {} : { $email: email } },
        { idempotencyKey: event },
      )
    await client.createFeedback(
      {
        description: (long.length > 0 ? long : texts('short_text')).join('\n\n'),
        title: definition.title,
        source: SOURCE,
        sourceId: token,
        rating: answers.find(({ field }) => SCALES.includes(field.type))?.number,
        contactId: user,
        isExternalContactId: true,
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
