import { elsewhere, id, object, type RecordTable, text, time, uuid } from './columns.ts'

const always = { ...elsewhere, isAlwaysRead: true } as const

/** What the service tells by itself. It stores ids and figures, and names are read with them. */
export const ALERTS = {
  alert: {
    kind: 'alert',
    about: 'Something that the service tells by itself: more people than usual say something, or are unhappy.',
    key: ['id'],
    onConflict: 'by hand',
    columns: {
      id,
      subject: {
        ...text,
        ...always,
        read: 'subject',
        about: 'What it is about: a `theme`, `kind` or `tag`; or the satisfaction of a `source` or `account`.',
      },
      change: {
        ...text,
        ...always,
        read: 'change',
        about:
          '`new`: hardly one person said it before. `grown`: more people than before say it. `unhappy`: more people are unhappy.',
      },
      theme_id: { ...uuid, ...elsewhere, read: 'themeId', about: 'Own id of the theme.' },
      kind: { ...text, ...elsewhere, read: 'kind', about: 'The kind of the texts.' },
      tag_id: { ...uuid, ...elsewhere, read: 'tagId', about: 'Own id of the tag: of its feedback category.' },
      source: { ...text, ...elsewhere, read: 'source', about: 'The source.' },
      account_id: { ...uuid, ...elsewhere, read: 'accountId', about: 'Own id of the account.' },
      days: { type: 'integer', ...always, read: 'days', about: 'How many days are compared, up to that of the alert.' },
      people: {
        type: 'integer',
        ...always,
        read: 'people',
        about: 'How many people said it, or are unhappy, in these days. After a purge, still as it was.',
      },
      expected: {
        type: 'double precision',
        ...always,
        read: 'expected',
        about: 'How many people were to be expected by the weeks before.',
      },
      created_at: { ...time, ...always, read: 'createdAt', about: 'When it was found.' },
    },
    joined: {
      name: { sql: 'name_of_alert', about: 'The name of the theme, tag or account now. Left out without one.' },
    },
  },
  digest: {
    kind: 'digest',
    about: 'The alerts and the greatest changes of a week.',
    key: ['id'],
    onConflict: 'by hand',
    columns: {
      id,
      week: { ...time, ...always, read: 'week', about: 'The Monday on which the week begins.' },
      changes: { ...object, ...elsewhere },
      created_at: { ...time, ...always, read: 'createdAt', about: 'When it was made.' },
    },
    joined: {
      alerts: { sql: 'alerts_of_digest', about: 'The alerts of the week, the earliest first; at most 100.' },
      changes: { sql: 'changes_of_digest', about: 'The themes and kinds that changed most, with their people.' },
    },
  },
} as const satisfies Readonly<Record<string, RecordTable>>
