import type { TextFile } from './source-files.ts'

/** Each of these words stands for a noun that the reader has to guess. */
const VAGUE =
  /\b(?:who(?:m)?ever|nobody|somebody|anybody|everybody|what(?:so)?ever|whichever|of which|those (?:that|who))\b|\bwhat (?:is|are)\b/i
/** The account of the operating system, and the beginning of a question. */
const ALLOWED = /'nobody'|`nobody`|\bWhat (?:is|are)\b/g

const PROSE = /\.(?:ts|sql|lua|md|sh|ya?ml|css|html)$/
/** Files with texts from elsewhere, and the list of these words. */
const NO_PROSE = /\/data\/|^docs\/tags-examples\.md$|^tools\/plain-words\.ts$/

/** One sentence for each line of prose that leaves a noun out. */
export const findVagueWords = (files: readonly TextFile[]): string[] =>
  files
    .filter(({ path }) => PROSE.test(path) && !NO_PROSE.test(path))
    .flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, index) => {
        const found = VAGUE.exec(line.replaceAll(ALLOWED, ''))
        return found ? [`${path}:${index + 1} says "${found[0]}": name the thing`] : []
      }),
    )
