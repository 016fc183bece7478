import { readFileSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { parseArgs } from 'node:util'
import * as v from 'valibot'
import { pathOfCaller } from '../runtime/path-of-caller.ts'
import { hashTerm, type Memory, newMemory } from '../tagger/memory.ts'
import { subjectOf } from '../tagger/subject.ts'
import { analyseTexts, learnTexts, tagAnalysed, unhideWordsOfTexts } from '../tagger/tag-texts.ts'
import { TEXT_KINDS } from '../contract/kinds-of-texts.ts'
import { MOODS } from './cells.ts'
import { decideMeaning, type MeantText, readMeaning } from './meaning.ts'
import type { ThemeMemory } from './themes.ts'

const USAGE = `usage: npm run insight -- --in TEXTS --out MEANINGS
Decides theme, mood and kind of the texts of one workspace as the worker does, without servers.
All files have one JSON object a line, the earliest text first:
  TEXTS     {id, text, lang?, tags?, mood?, kind?}; tags, mood (-1, 0, 1) and kind when people gave them
  MEANINGS  {id, tags, theme, name, by, mood, kind, likeliest, probability}`

/** A worker's job has at most so many feedback. */
const TEXTS_TOGETHER = 100
const SEED = 1

const line = v.object({
  id: v.union([v.string(), v.number()]),
  text: v.string(),
  lang: v.nullish(v.string()),
  tags: v.nullish(v.array(v.string())),
  mood: v.nullish(v.picklist(MOODS)),
  kind: v.nullish(v.picklist(TEXT_KINDS)),
})
type InsightLine = v.InferOutput<typeof line>

type InsightWorkspace = { readonly tags: Memory; readonly themes: ThemeMemory; readonly names: Map<number, string> }

const decideTogether = ({ tags: memory, themes, names }: InsightWorkspace, lines: readonly InsightLine[]) => {
  const analysed = analyseTexts(
    lines.map(({ text, lang, tags }) => ({ text, language: lang ?? undefined, tags: tags ?? undefined })),
  )
  learnTexts(memory, analysed)
  const unhidden = unhideWordsOfTexts(memory, analysed)
  const { tags, shares } = tagAnalysed(memory, unhidden)
  const texts = lines.map(({ id, mood, kind }, at): MeantText => {
    const keys = [...shares[at]!.tags].map(([key, titles]) => [hashTerm(key), [...titles.keys()][0]!] as const)
    for (const [hash, title] of keys) names.set(hash, title)
    return {
      id: String(id),
      terms: [...shares[at]!.terms.keys()],
      tags: keys.map(([hash]) => hash),
      subjects: keys.map(([, title]) => subjectOf(title, unhidden[at]!.analysis.reading.lexicon)),
      read: readMeaning(unhidden[at]!.analysis, SEED),
      labels: { mood: mood ?? undefined, kind: kind ?? undefined },
    }
  })
  const counts = new Map([...memory.terms].map(([hash, { texts: with_ }]) => [hash, with_]))
  return { tags, ...decideMeaning({ ...themes, texts: memory.texts, textsWith: counts }, texts) }
}

const main = (): number => {
  const { values } = parseArgs({
    options: { in: { type: 'string' }, out: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  })
  if (values.help === true || values.in === undefined || values.out === undefined) {
    process[values.help === true ? 'stdout' : 'stderr'].write(`${USAGE}\n`)
    return values.help === true ? 0 : 2
  }
  const lines = readFileSync(pathOfCaller(values.in, process.env), 'utf8')
    .split('\n')
    .filter((each) => each.trim() !== '')
    .map((each) => v.parse(line, JSON.parse(each)))
  const themes: ThemeMemory = { themes: [], recent: [], sums: new Map(), texts: 0, textsWith: new Map() }
  const workspace: InsightWorkspace = { tags: newMemory(), themes, names: new Map() }
  const found: object[] = []
  const placed = new Map<string, object>()
  for (let start = 0; start < lines.length; start += TEXTS_TOGETHER) {
    const decided = decideTogether(workspace, lines.slice(start, start + TEXTS_TOGETHER))
    for (const { id, placed: at } of decided.placed) placed.set(id, at)
    for (const [at, { id, mood, kind, judged }] of decided.texts.entries())
      found.push({ id, tags: decided.tags[at], mood, kind, likeliest: judged.kind, probability: judged.probability })
  }
  const names = new Map(themes.themes.map(({ number, tags: [tag = 0] }) => [number, workspace.names.get(tag)]))
  const out = found.map((each) => {
    const { theme = null, by = null } = (placed.get((each as { id: string }).id) ?? {}) as {
      theme?: number
      by?: string
    }
    return `${JSON.stringify({ ...each, theme, by, name: theme === null ? null : names.get(theme) })}\n`
  })
  // Tags and names are words of customers.
  writeFileSync(pathOfCaller(values.out, process.env), out.join(''), { mode: 0o600 })
  return 0
}

try {
  process.exitCode = main()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
