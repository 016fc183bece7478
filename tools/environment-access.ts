import type { TextFile } from './source-files.ts'

/** The files that may read the environment. */
const MAY_READ = /^(?:(?:bench|demo|test|docs\/recipes)\/.*|(?:.*\/)?(?:[\w-]*config|main|start|[\w-]+-command)\.ts)$/

const ACCESS = [
  /\bprocess\s*(?:\?\.|\.)\s*env\b/,
  /\bprocess\s*(?:\?\.)?\[\s*['"`]env['"`]\s*\]/,
  /\b(?:Bun|Deno|import\.meta)\s*\.\s*env\b/,
  /\{[^}]*\benv\b[^}]*\}\s*(?:=\s*process\b|from\s*['"](?:node:)?process['"])/,
]

/** One sentence for each line in another file that reads the environment. */
export const findEnvironmentAccess = (files: readonly TextFile[]): string[] => {
  return files
    .filter(({ path }) => !MAY_READ.test(path))
    .flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, index) => {
        const isComment = /^\s*(?:\/\/|\/?\*)/.test(line)
        const reads = !isComment && ACCESS.some((pattern) => pattern.test(line))
        return reads
          ? [`${path}:${index + 1} reads the environment: take the setting from the configuration of the process`]
          : []
      }),
    )
}
