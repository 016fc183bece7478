/** The version of the tagger. It goes up with every change that can give a text other tags. */
export const TAGGER_VERSION = 4
