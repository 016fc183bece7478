import { TEXT_KINDS } from '../kinds-of-texts.ts'
import { elsewhere, flag, id, number, object, type RecordTable, text, time, uuid } from './columns.ts'

/** What the service finds in a text. */
export const MEANING = {
  mood: {
    type: 'double precision',
    ...elsewhere,
    read: 'mood',
    about: 'The mood of the text, from -1 (blame) to 1 (praise). Left out while it is not sure.',
  },
  kind: {
    ...text,
    ...elsewhere,
    read: 'kind',
    about: `What the text is: ${TEXT_KINDS.map((kind) => `\`${kind}\``).join(', ')}. Left out while it is not sure.`,
  },
} as const
export const THEME_ID = 'Own id of its theme. If a person has merged this theme into another one, the other one.'

/** Themes and tags. */
export const MEANINGS = {
  theme: {
    kind: 'theme',
    about: 'A theme: texts about one subject.',
    key: ['id'],
    onConflict: 'by hand',
    columns: {
      id,
      number: { type: 'integer', ...elsewhere },
      tag_hash: { ...number, ...elsewhere },
      title: { ...text, ...elsewhere },
      given_name: { ...text, ...elsewhere },
      name: {
        ...text,
        ...elsewhere,
        read: 'name',
        about: 'The name that a person gave, or else a tag of its texts. Left out without either.',
      },
      is_hidden: {
        ...flag,
        ...elsewhere,
        isAlwaysRead: true,
        read: 'isHidden',
        about: 'Whether a person has hidden it. A hidden theme is in no count and no report.',
      },
      merged_into: {
        ...uuid,
        ...elsewhere,
        read: 'mergedInto',
        about: 'Own id of the theme into which a person merged it.',
      },
      shown_id: { ...uuid, ...elsewhere },
      edit_numbers: { ...object, ...elsewhere },
      created_at: { ...time, ...elsewhere, isAlwaysRead: true, read: 'createdAt', about: 'When it came into being.' },
    },
  },
  feedback_category: {
    kind: 'feedback_category',
    about: 'A tag of a feedback or conversation.',
    key: ['id'],
    onConflict: 'by hand',
    columns: {
      id,
      title: { ...text, read: 'title', about: 'The tag.' },
      uses: number,
      created_at: { ...time, ...elsewhere },
    },
  },
} as const satisfies Readonly<Record<string, RecordTable>>
