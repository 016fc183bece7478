import { readFileSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { parseArgs } from 'node:util'
import * as v from 'valibot'
import { pathOfCaller } from '../runtime/path-of-caller.ts'
import { type Memory, newMemory } from './memory.ts'
import { tagTexts, type Text } from './tag-texts.ts'

const USAGE = `usage: npm run tags -- --in TEXTS --out TAGS [--history HISTORY]
Tags texts as the worker does, without servers. All files have one JSON object a line:
  TEXTS    {id, text, lang?, workspace?}
  HISTORY  {text, lang?, workspace?, tags?}, earlier texts of the workspaces, the earliest first; tags when people gave them
  TAGS     {id, tags}`

/**
 * Texts of one group help each other. A worker's group has at most 100 feedback and 100
 * conversations.
 */
const TEXTS_TOGETHER = 500

const workspaceText = { text: v.string(), lang: v.nullish(v.string()), workspace: v.nullish(v.string()) }
const incoming = v.object({ ...workspaceText, id: v.union([v.string(), v.number()]) })
const earlier = v.object({ ...workspaceText, tags: v.nullish(v.array(v.string())) })
type Incoming = v.InferOutput<typeof incoming>
type Earlier = v.InferOutput<typeof earlier>

const main = (): number => {
  const { values } = parseArgs({
    options: {
      in: { type: 'string' },
      out: { type: 'string' },
      history: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help === true || values.in === undefined || values.out === undefined) {
    const isAsked = values.help === true
    process[isAsked ? 'stdout' : 'stderr'].write(`${USAGE}\n`)
    return isAsked ? 0 : 2
  }
  const memories = new Map<string, Memory>()
  if (values.history !== undefined) tagInGroups(memories, readLines(values.history, earlier), toEarlierText)
  const texts = readLines(values.in, incoming)
  const tags = tagInGroups(memories, texts, ({ text, lang }) => ({ text, language: lang ?? undefined }))
  const out = pathOfCaller(values.out, process.env)
  const lines = texts.map(({ id }, at) => `${JSON.stringify({ id, tags: tags[at] ?? [] })}\n`)
  // Tags are words of customers.
  writeFileSync(out, lines.join(''), { mode: 0o600 })
  return 0
}

const toEarlierText = ({ text, lang, tags }: Earlier): Text => ({
  text,
  language: lang ?? undefined,
  tags: tags ?? undefined,
})

/**
 * The tags of all lines, in the order of the lines. Each workspace has its own memory and groups.
 */
const tagInGroups = <Line extends Incoming | Earlier>(
  memories: Map<string, Memory>,
  lines: readonly Line[],
  toText: (line: Line) => Text,
): string[][] => {
  const tags: string[][] = []
  const places = Map.groupBy(lines.keys(), (at) => lines[at]?.workspace ?? '')
  for (const [workspace, own] of places) {
    const memory = memories.get(workspace) ?? newMemory()
    memories.set(workspace, memory)
    for (let start = 0; start < own.length; start += TEXTS_TOGETHER) {
      const group = own.slice(start, start + TEXTS_TOGETHER)
      const texts = group.flatMap((at) => lines[at] ?? []).map(toText)
      tagTexts(memory, texts).tags.forEach((found, index) => {
        tags[group[index] ?? 0] = found
      })
    }
  }
  return tags
}

const readLines = <Schema extends v.GenericSchema>(path: string, schema: Schema): v.InferOutput<Schema>[] =>
  readFileSync(pathOfCaller(path, process.env), 'utf8')
    .split('\n')
    .flatMap((line, at) => {
      if (line.trim() === '') return []
      try {
        return [v.parse(schema, JSON.parse(line))]
      } catch (cause) {
        throw new Error(`${path}:${at + 1} has another form than --help shows`, { cause })
      }
    })

try {
  process.exitCode = main()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
