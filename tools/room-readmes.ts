import { MAY_IMPORT } from './import-rule.ts'
import type { TextFile } from './source-files.ts'

/** A top folder of the repository. */
type Folder = {
  readonly name: string
  /** The paths of its files, relative to it and with slashes. */
  readonly paths: readonly string[]
  /** The text of each README.md in it, by path. */
  readonly readmes: ReadonlyMap<string, string>
}

const README = 'README.md'
const MOST_LINES = 55
const ROOMS = Object.keys(MAY_IMPORT).filter((room) => !room.includes('/'))

/** The top folders except `docs/` and hidden folders. Each must be a room. */
export const foldersOf = (files: readonly TextFile[]): Folder[] => {
  const inFolders = files.filter(({ path }) => /^[^.][^/]*\//.test(path) && !path.startsWith('docs/'))
  return [...Map.groupBy(inFolders, ({ path }) => path.replace(/\/.*/, ''))].map(([name, found]) => {
    const inside = found.map(({ path, text }) => ({ path: path.slice(name.length + 1), text }))
    const readmes = inside.filter(({ path }) => path.split('/').at(-1) === README)
    return {
      name,
      paths: inside.map(({ path }) => path),
      readmes: new Map(readmes.map(({ path, text }) => [path, text])),
    }
  })
}

/**
 * One sentence for each fault: a room without a folder, a folder that is no room, a fault of a
 * README.md, or a word that two rooms define.
 */
export const findReadmeFaults = (folders: readonly Folder[]): string[] => [
  ...ROOMS.filter((room) => !folders.some(({ name }) => name === room)).map(
    (room) => `${room} is a room of the import table, but no folder`,
  ),
  ...folders.flatMap((folder) => {
    if (!ROOMS.includes(folder.name)) return [`${folder.name} is no room of the import table`]
    const readme = folder.readmes.get(README)
    return readme === undefined ? [`${folder.name} has no ${README}`] : faultsOfRoom(folder, readme)
  }),
  ...folders.flatMap((folder) => faultsOfFiles(folder, folders)),
  ...findDoubleWords(folders),
]

const faultsOfRoom = ({ name }: Folder, readme: string): string[] => {
  const { about, words, files } = partsOf(readme)
  const lines = readme.trimEnd().split('\n').length
  const others = (MAY_IMPORT[name] ?? []).filter((room) => ROOMS.includes(room))
  return [
    ...(lines > MOST_LINES ? [`has ${lines} lines, which is more than ${MOST_LINES}`] : []),
    ...(/^# .+\n+[^#\s]/.test(about) ? [] : ['does not begin with a title and a sentence about the room']),
    ...others
      .filter((room) => !new RegExp(`\\b${room}\\b`).test(about))
      .map((room) => `does not say that the room may import ${room}`),
    ...itemsOf(words)
      .filter((item) => wordsOf(item).length === 0)
      .map((item) => `has an item that is not "- **word**: sentence" under "## Words": ${item.split('\n', 1)[0]}`),
    ...(itemsOf(files).length > 0 ? [] : ['has no items under "## Files"']),
  ].map((fault) => `${name}/${README} ${fault}`)
}

/** `about` is the rest of the text, including its beginning. */
const partsOf = (readme: string): { about: string; words: string; files: string } => {
  const parts = readme.split(/^(?=## )/m)
  const named = (heading: string): string => parts.find((part) => part.startsWith(`## ${heading}`)) ?? ''
  const [words, files] = [named('Words'), named('Files')]
  return { about: parts.filter((part) => part !== words && part !== files).join(''), words, files }
}

/** The items of a list, numbered or not, each with all its lines. */
const itemsOf = (part: string): string[] =>
  part
    .split(/\n(?=(?:- |\d+\. |\n|#))/)
    .map((item) => item.trim())
    .filter((item) => /^(?:- |\d+\. )/.test(item))

/** An item can define further words, which are also bold. */
const wordsOf = (item: string): string[] =>
  /^- \*\*[^*]+\*\*: \S/.test(item)
    ? [...item.matchAll(/\*\*([^*]+)\*\*/g)].map(([, word = '']) => word.toLowerCase())
    : []

/**
 * Under "## Files", a README.md names each file and folder beside it exactly once. All paths that it
 * names must exist, except in `docs/`, which is not among the folders.
 */
const faultsOfFiles = (folder: Folder, folders: readonly Folder[]): string[] =>
  [...folder.readmes].flatMap(([path, readme]) => {
    const { files } = partsOf(readme)
    if (files === '') return []
    const inside = path.slice(0, -README.length)
    const beside = new Set(
      folder.paths
        .filter((other) => other.startsWith(inside) && other !== path)
        .map((other) => other.slice(inside.length).replace(/\/.*/, '')),
    )
    const named = [...files.matchAll(/`([^`\n]+)`/g)].map(([, name = '']) => name)
    const whole = `${folder.name}/${inside}`
    const bare = named.map((name) => (name.startsWith(whole) ? name.slice(whole.length) : name).replace(/\/$/, ''))
    const times = (entry: string): number => bare.filter((name) => name === entry).length
    return [
      ...[...beside].filter((entry) => times(entry) === 0).map((entry) => `does not name ${entry} under "## Files"`),
      ...[...beside]
        .filter((entry) => times(entry) > 1)
        .map((entry) => `names ${entry} more than once under "## Files"`),
      ...named
        .filter((name) => isPath(name) && !name.startsWith('docs/') && !isThere(folder, folders, name))
        .map((name) => `names ${name}, which does not exist`),
    ].map((fault) => `${folder.name}/${path} ${fault}`)
  })

const isPath = (name: string): boolean =>
  /^[\w./-]+(?:\/|\.(?:[jt]s|sql|lua|jsonl?|ya?ml|sh|md|txt|css|html))$/.test(name)

/** Whether a path exists, as a part of a path in the room or from the top of the repository. */
const isThere = (folder: Folder, folders: readonly Folder[], named: string): boolean => {
  const name = named.replace(/\/$/, '')
  return (
    folder.paths.some((path) => `/${path}/`.includes(`/${name}/`)) ||
    folders.some((other) => other.paths.some((path) => `${other.name}/${path}/`.startsWith(`${name}/`)))
  )
}

const findDoubleWords = (folders: readonly Folder[]): string[] => {
  const defined = folders.flatMap(({ name, readmes }) =>
    itemsOf(partsOf(readmes.get(README) ?? '').words)
      .flatMap(wordsOf)
      .map((word) => ({ word, name })),
  )
  return [...Map.groupBy(defined, ({ word }) => word)]
    .filter(([, places]) => places.length > 1)
    .map(
      ([word, places]) => `The word "${word}" is defined more than once: ${places.map(({ name }) => name).join(', ')}`,
    )
}
