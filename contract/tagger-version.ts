/** The version of the tagger. Raise it with every change that can give a text other tags. */
export const TAGGER_VERSION = 4
