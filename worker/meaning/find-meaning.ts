import { randomUUID } from 'node:crypto'
import { keyedHash, type Realm } from '../../contract/identity/keys.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { type KnownTheme, recallSums, recallThemes } from '../../db/tags/meaning.ts'
import { type StoredMeaning, themeSet } from '../../db/tags/store-tags.ts'
import { storedHashes } from '../../db/tags/tag-hashes.ts'
import { themeCell } from '../../meaning/cells.ts'
import { moodOfSatisfaction } from '../../meaning/judge.ts'
import { decideMeaning, hashesOfSums, type MeantText, type Meanings, readMeaning } from '../../meaning/meaning.ts'
import { RECENT_TEXTS, type ThemeByTags, type ThemeMemory } from '../../meaning/themes.ts'
import { subjectOf, subjectWords } from '../../tagger/subject.ts'
import type { FindMeaning, TaggedText } from '../tagging/no-meaning.ts'
import { findSimilar } from './find-similar.ts'

export const findMeaning: FindMeaning = async (sql, realm, { texts, allTexts }) => {
  const { workspaceId } = realm
  const ids = new Set(texts.map(({ stored }) => stored.id))
  const meant = readTexts(realm, texts)
  const signed = meant
    .filter((_, at) => texts[at]!.stored.record === 'feedback')
    .map(({ id, read }) => ({ id, signature: read.signature }))
  const [memory, similar] = await Promise.all([
    recallMemory(sql, workspaceId, { meant, allTexts }),
    findSimilar(sql, workspaceId, signed),
  ])
  const decided = decideMeaning(memory, meant)
  return {
    meanings: meaningsOf(meant, decided).map((meaning, at) => ({ ...meaning, ...similar.of(meant[at]!.id) })),
    found: {
      knownThemes: memory.known,
      opened: decided.opened.map(({ number, tags: [tag = 0] }) => ({
        number,
        id: randomUUID(),
        tagHash: tag,
        title: titleOf(texts, tag),
      })),
      waiting: decided.placed.flatMap(({ id, placed }) =>
        ids.has(id) ? [] : { id, theme: placed.theme, themeCell: themeCell(placed) },
      ),
      joined: similar.joined,
    },
  }
}

const themeByTags = ({ number, tag, title, isMerged }: KnownTheme): ThemeByTags => ({
  number,
  tags: tag === null ? [] : [tag],
  subject: title === null ? [] : subjectWords(title),
  isMerged,
})

/** The texts with hashes in their stored form. */
const readTexts = (realm: Realm, texts: readonly TaggedText[]): MeantText[] => {
  const seed = keyedHash(realm.hashKey, JSON.stringify([realm.workspaceId, 'text_band'])).readUInt32BE()
  const reads = texts.map(({ analysis }) => readMeaning(analysis, seed))
  const cues = storedHashes(
    realm,
    reads.flatMap((read) => read.cues),
  )
  let place = 0
  return texts.map(({ stored: text, analysis, share }, at): MeantText => {
    const read = reads[at]!
    return {
      id: text.id,
      terms: share.terms.map(({ hash }) => hash),
      tags: share.tags.map(({ hash }) => hash),
      subjects: share.tags.map(({ title }) => subjectOf(title, analysis.reading.lexicon)),
      read: { ...read, cues: cues.slice(place, (place += read.cues.length)) },
      labels: {
        mood: text.satisfaction === null ? undefined : moodOfSatisfaction(text.satisfaction),
        kind: text.kind ?? undefined,
      },
      known: text.theme === null ? undefined : { theme: text.theme, by: text.themeBy ?? 'likeness' },
    }
  })
}

/** The themes, the last texts, and the sums that the texts need. */
const recallMemory = async (
  sql: Sql,
  workspaceId: string,
  { meant, allTexts }: { meant: readonly MeantText[]; allTexts: number },
): Promise<ThemeMemory & { known: string }> => {
  const except = meant.map(({ id }) => id)
  const { themes, last, isTaught } = await recallThemes(sql, { workspaceId, except, mostLast: RECENT_TEXTS })
  const rows = await recallSums(sql, workspaceId, hashesOfSums(meant, { recent: last, isTaught }))
  const textsWith = new Map(rows.map((row) => [row.hash, row.textsWith]))
  for (const { terms } of meant) for (const term of terms) textsWith.set(term, (textsWith.get(term) ?? 0) + 1)
  return {
    known: themeSet(themes),
    themes: themes.map(themeByTags),
    recent: last,
    texts: allTexts,
    sums: new Map(rows.map(({ hash, sums }) => [hash, sums])),
    textsWith,
  }
}

/** The title of a tag of these texts, as the first of them has it. */
const titleOf = (texts: readonly TaggedText[], tag: number): string =>
  texts.flatMap(({ share }) => share.tags).find(({ hash }) => hash === tag)!.title

type OwnMeaning = Omit<StoredMeaning, 'similarId' | 'bands' | 'marks'>

const meaningsOf = (meant: readonly MeantText[], { texts, placed }: Meanings): OwnMeaning[] => {
  const placedOf = new Map(placed.map((each) => [each.id, each.placed]))
  return meant.map(({ id, known }, at) => {
    const { mood, kind, taught } = texts[at]!
    const theme = known ?? placedOf.get(id)
    return {
      mood,
      kind,
      theme: theme?.theme ?? null,
      themeBy: theme?.by ?? null,
      themeCell: theme === undefined ? null : themeCell(theme),
      cues: taught.hashes,
      cueCells: taught.cells,
    }
  })
}
