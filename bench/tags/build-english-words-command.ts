import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

// Writes tagger/data/en-words.json from WordNet 3.1: `build-english-words-command.ts FOLDER`. FOLDER
// has the files `index.sense` and `data.noun`.
const TARGET = fileURLToPath(new URL('../../tagger/data/en-words.json', import.meta.url))

/** The lexicographer files of WordNet for nouns, in groups that matter for tags. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  artifact: ['06'],
  food: ['05', '13', '20', '27'],
  attribute: ['07'],
  act: ['04', '11', '22'],
  communication: ['09', '10'],
  state: ['12', '16', '19', '26'],
  possession: ['14', '21'],
  person: ['18'],
  measure: ['23', '28'],
  place: ['15'],
  object: ['03', '08', '17', '24', '25'],
}
/** Groups of nouns that are often topics of feedback. */
const TOPICS = new Set(['artifact', 'communication', 'act', 'possession', 'attribute'])
const MAX_RARE_CHARACTERS = 12

/** With this many occurrences in the tagged corpus, a noun counts as frequent. */
const FREQUENT = 40

/** With this many occurrences, a word may be part of a compound. */
const USED = 3

/** The list of adjectives leaves out words of this form, except rare nouns. */
const ADJECTIVE_FORM = /(?:able|ible|ful|less|ous|ive|ic|al|ish|ed|ing|like|ary|ant|ent|some|proof)$|^(?:non|un)/

/**
 * The senses of a word by its part of speech, and its occurrences in the tagged corpus. `groups`: the
 * weight of each group among its senses as a noun.
 */
type Senses = {
  nounSenses: number
  nounUses: number
  verbSenses: number
  verbUses: number
  adjectiveSenses: number
  adjectiveUses: number
  groups: Map<string, number>
}

const [folder] = process.argv.slice(2)

/** The index is in lower case; the synonym sets distinguish Rose from rose. */
const readCommonNouns = (text: string): ReadonlySet<string> => {
  const nouns = new Set<string>()
  for (const line of text.split('\n')) {
    const [, , , size = '0', ...rest] = line.split(' ')
    for (let at = 0; at < Number.parseInt(size, 16); at++) nouns.add(rest[2 * at] ?? '')
  }
  return nouns
}

const readSenses = (text: string): Map<string, Senses> => {
  const words = new Map<string, Senses>()
  for (const line of text.split('\n')) {
    const match = /^([a-z]+(?:[-_][a-z]+)*)%(\d):(\d\d):\S* \d+ (\d+) (\d+)/.exec(line)
    if (!match) continue
    const [, word = '', part, file = '', rank, count] = match
    const senses = words.get(word) ?? newSenses()
    words.set(word, senses)
    if (part === '1') {
      if (!commonNouns.has(word)) continue
      senses.nounSenses++
      senses.nounUses += Number(count)
      const group = Object.keys(GROUPS).find((name) => GROUPS[name]?.includes(file)) ?? 'object'
      // Without occurrences, the first senses of a word weigh most.
      senses.groups.set(group, (senses.groups.get(group) ?? 0) + Number(count) + 1 / Number(rank))
    } else if (part === '2') {
      senses.verbSenses++
      senses.verbUses += Number(count)
    } else {
      // Adverbs count as adjectives.
      senses.adjectiveSenses++
      senses.adjectiveUses += Number(count)
    }
  }
  return words
}

const isUsed = (word: string): boolean => {
  const known = sensesOf.get(word)
  return known !== undefined && known.nounUses + known.verbUses + known.adjectiveUses >= USED
}

const newSenses = (): Senses => {
  return {
    nounSenses: 0,
    nounUses: 0,
    verbSenses: 0,
    verbUses: 0,
    adjectiveSenses: 0,
    adjectiveUses: 0,
    groups: new Map(),
  }
}

const toLists = (words: ReadonlyMap<string, Senses>): Record<string, string[]> => {
  const lists: Record<string, string[]> = {
    verb: [],
    adjective: [],
    mostlyVerb: [],
    mostlyAdjective: [],
    frequent: [],
    compound: [],
  }
  for (const name of Object.keys(GROUPS)) lists[name] = []
  for (const [word, senses] of [...words].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    for (const list of listsOf(word, senses)) lists[list]?.push(word)
  }
  return Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, toLines(list)]))
}

const listsOf = (word: string, senses: Senses): string[] => {
  if (word.includes('_')) return isCompound(word, senses) ? ['compound'] : []
  if (word.length < 3 || word.length > 20) return []
  const { nounSenses, nounUses, verbSenses, verbUses, adjectiveSenses, adjectiveUses, groups } = senses
  if (nounSenses + verbSenses + adjectiveSenses === 0) return []
  if (nounSenses === 0) {
    if (verbSenses > 0 && verbUses >= adjectiveUses) return ['verb']
    return adjectiveSenses > 0 && !ADJECTIVE_FORM.test(word) ? ['adjective'] : []
  }
  const group = [...groups].toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? 'object'
  // A noun of one sense without occurrences in the tagged corpus is rare, except for a short noun
  // in a group of topics.
  const isRare = nounUses === 0 && nounSenses < 2 && (!TOPICS.has(group) || word.length > MAX_RARE_CHARACTERS)
  if (isRare) return verbSenses > 0 ? ['verb'] : adjectiveSenses > 0 ? ['adjective'] : []
  return [
    group,
    ...(verbUses > nounUses ? ['mostlyVerb'] : []),
    ...(adjectiveUses > nounUses ? ['mostlyAdjective'] : []),
    ...(nounUses >= FREQUENT ? ['frequent'] : []),
  ]
}

/** Whether a compound has two words that people use, and a meaning that is often a topic. */
const isCompound = (word: string, { nounSenses, groups }: Senses): boolean => {
  if (nounSenses === 0 || word.split('_').length !== 2 || word.length > 20) return false
  const isTopic = [...groups.keys()].some((group) => TOPICS.has(group) || group === 'state')
  return isTopic && word.split('_').every((part) => isUsed(part))
}

/** Lines of moderate length keep differences readable. */
const toLines = (words: readonly string[]): string[] => {
  const lines: string[] = []
  for (const word of words) {
    const last = lines.at(-1)
    if (last === undefined || last.length + word.length > 200) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}

if (folder === undefined) throw new Error('usage: build-english-words-command.ts FOLDER')
const commonNouns = readCommonNouns(readFileSync(join(folder, 'data.noun'), 'utf8'))
const sensesOf = readSenses(readFileSync(join(folder, 'index.sense'), 'utf8'))
writeFileSync(TARGET, `${JSON.stringify(toLists(sensesOf), null, 2)}\n`)
