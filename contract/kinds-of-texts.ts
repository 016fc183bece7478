/** What a text is: it tells of a problem, asks for something new, praises, or asks a question. */
export const TEXT_KINDS = ['problem', 'request', 'praise', 'question', 'other'] as const
export type TextKind = (typeof TEXT_KINDS)[number]

/** What gave a text its theme: a person, a tag of the text, or its likeness to other texts. */
export type PlacedBy = 'person' | 'tag' | 'likeness'
