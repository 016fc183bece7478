import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { printHelp } from '../../runtime/print-help.ts'
import { generateTags } from '../../tagger/generate-tags.ts'
import { drawPlace, readBanking, readHuLiu, readLanguages } from './tag-data.ts'
import type { Sample } from './tag-data.ts'

const TARGET = fileURLToPath(new URL('../../docs/tags-examples.md', import.meta.url))
const EXAMPLES_OF_A_SET = 20
const MAX_SHOWN_CHARACTERS = 300
const LANGUAGE_NAMES: Readonly<Record<string, string>> = {
  es: 'Spanish',
  fr: 'French',
  de: 'German',
  pt: 'Portuguese',
  it: 'Italian',
  nl: 'Dutch',
  ru: 'Russian',
  tr: 'Turkish',
  pl: 'Polish',
  zh: 'Chinese',
  ja: 'Japanese',
  ar: 'Arabic',
}

const toSection = (title: string, texts: readonly Sample[]): string => {
  const rows = texts.map(({ text }) => `| ${toCell(text)} | ${generateTags(text).join(', ') || '–'} |\n`)
  return `## ${title}\n\n| Text | Tags |\n| --- | --- |\n${rows.join('')}`
}

const toCell = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ')
  const shown = line.length > MAX_SHOWN_CHARACTERS ? `${line.slice(0, MAX_SHOWN_CHARACTERS)} …` : line
  return shown.replaceAll(/[|<>*_`[\]\\]/g, (sign) => `\\${sign}`)
}

/** A sample of a set, the same on every run, without a choice by content. */
const sample = (texts: readonly Sample[]): Sample[] => {
  return texts
    .toSorted((a, b) => drawPlace(`example ${a.id}`) - drawPlace(`example ${b.id}`))
    .slice(0, EXAMPLES_OF_A_SET)
}

printHelp(`usage: npm run tags:examples
Writes docs/tags-examples.md: texts with their generated tags, for a person to judge.`)
const sections = [
  toSection('English: reviews (Hu and Liu, CC BY 4.0)', sample(readHuLiu())),
  toSection('English: questions to a bank (Banking77, CC BY 4.0)', sample(readBanking())),
  ...[...Map.groupBy(readLanguages(), ({ lang }) => lang)].map(([language, texts]) =>
    toSection(`${LANGUAGE_NAMES[language] ?? language} (written for this project)`, texts),
  ),
]
const page = `# Texts and their tags

Written by \`npm run tags:examples\`. These texts have no history, so the tags lack the effect of other
texts and tags of a workspace. The English texts are drawn by lot.

${sections.join('\n')}`

writeFileSync(TARGET, await format(page, { ...(await resolveConfig(TARGET)), filepath: TARGET }))
