import type { TextFile } from './source-files.ts'

/**
 * The client is a package of its own: it repeats names of other rooms for its users. Tests and
 * recipes may name their types as they like.
 */
const EXEMPT = /^(?:client|test|docs\/recipes)\//

const DECLARATION =
  /^ *(?:export )?(?:declare )?(?:type (\w+) *[=<]|interface (\w+)\b)|^export (?:abstract )?class (\w+)/gm

/** One sentence for each name of types, interfaces or exported classes that several files declare. */
export const findDoubleTypeNames = (files: readonly TextFile[]): string[] => {
  const declared = files.filter(({ path }) => !EXEMPT.test(path)).flatMap(declaredIn)
  return [...Map.groupBy(declared, ({ name }) => name)]
    .map(([name, places]) => ({ name, paths: [...new Set(places.map(({ path }) => path))] }))
    .filter(({ paths }) => paths.length > 1)
    .map(({ name, paths }) => `${name} is the name of several types: ${paths.join(', ')}`)
}

const declaredIn = ({ path, text }: TextFile): { name: string; path: string }[] =>
  [...text.matchAll(DECLARATION)].map(([, ...names]) => ({
    name: names.find((name) => name !== undefined) ?? '',
    path,
  }))
