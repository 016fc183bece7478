/** What a text is: it tells of a problem, asks for something new, praises, or asks a question. */
export const TEXT_KINDS = ['problem', 'request', 'praise', 'question', 'other'] as const
export type TextKind = (typeof TEXT_KINDS)[number]
