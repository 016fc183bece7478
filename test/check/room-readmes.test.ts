import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MAY_IMPORT } from './import-rule.ts'
import { findReadmeFaults, type Folder } from './room-readmes.ts'

const ROOMS = Object.keys(MAY_IMPORT).filter((room) => !room.includes('/'))

const README = `# Queue

What waits in Redis. It may import \`contract\` and \`process\`.

## Words

- **batch**: what lies in the books under one name,
  with all that was admitted together.

## Files

- \`admission.ts\`: how a submission gets in.
- \`scripts/\`: what runs in Redis.
`

const folderOf = (name: string, paths: readonly string[], readmes: Record<string, string> = {}): Folder => ({
  name,
  paths: [...paths, ...Object.keys(readmes)],
  readmes: new Map(Object.entries(readmes)),
})

/** The queue with this README.md, and with other rooms that have none. */
const house = (readme: string, ...others: readonly Folder[]): Folder[] => {
  const queue = folderOf('queue', ['admission.ts', 'scripts/admit.lua', 'scripts/settle.lua'], { 'README.md': readme })
  const given = [queue, ...others]
  const rest = ROOMS.filter((room) => !given.some(({ name }) => name === room))
  return [...given, ...rest.map((name) => folderOf(name, []))]
}

/** What is wrong besides the missing README.md of other rooms. */
const find = (readme: string, ...others: readonly Folder[]): string[] => faultsBesides(house(readme, ...others))

const faultsBesides = (folders: readonly Folder[]): string[] =>
  findReadmeFaults(folders).filter((fault) => !fault.endsWith(' has no README.md'))

describe('the README.md of a room', () => {
  it('is fine when it has everything', () => {
    assert.deepEqual(find(README), [])
  })

  it('is missed', () => {
    const others = ROOMS.filter((room) => room !== 'queue')
    assert.deepEqual(
      findReadmeFaults(house(README)),
      others.map((room) => `${room} has no README.md`),
    )
  })

  const faults: Record<string, [readme: string, says: string]> = {
    'that it is too long': [`${README}${'\n'.repeat(40)}x\n`, 'queue/README.md has 54 lines, which is more than 45'],
    'that it does not say what the room is': [
      README.replace(/What waits.*/, ''),
      'queue/README.md does not begin with a title and what the room is',
    ],
    'a room that may be imported': [
      README.replace(' and `process`', ''),
      'queue/README.md does not say that the room may import process',
    ],
    'that there are no words': [README.replace('## Words', '## More'), 'queue/README.md has no items under "## Words"'],
    'that there are no files': [README.replace('## Files', '## More'), 'queue/README.md has no items under "## Files"'],
    'a word without a sentence': [
      README.replace('**batch**: what', '**batch** is what'),
      'queue/README.md has an item that is not "- **word**: sentence" under "## Words": - **batch** is what lies in the books under one name,',
    ],
    'a file that is left out': [
      README.replace('`admission.ts`', 'Admission'),
      'queue/README.md does not name admission.ts under "## Files"',
    ],
    'a folder that is named twice': [
      README.replace('in Redis.\n', 'in Redis, with `queue/scripts/`.\n')
        .replace('How a', 'how a')
        .concat('- `scripts`\n'),
      'queue/README.md names scripts more than once under "## Files"',
    ],
    'a file that is gone': [`${README}- \`settle.ts\`\n`, 'queue/README.md names settle.ts, which is not there'],
  }
  for (const [what, [readme, says]] of Object.entries(faults)) {
    it(`is told ${what}`, () => {
      const found = find(readme)
      assert.ok(found.includes(says), found.join('\n'))
    })
  }

  it('may name what lies deeper, or in other rooms, and what is no file', () => {
    const api = folderOf('api', ['submit.ts'])
    const more = '- `scripts/admit.lua` is called by `api/submit.ts` with `EVALSHA`\n'
    assert.deepEqual(find(README + more, api), [])
  })

  it('defines no word that another room defines', () => {
    const readme = README.replace('# Queue', '# Db')
      .replace('**batch**', '**Batch**')
      .replaceAll(/^- `.*\n/gm, '')
    const db = folderOf('db', ['store.ts'], { 'README.md': `${readme}- \`store.ts\`\n` })
    assert.deepEqual(find(README, db), ['The word "batch" is defined more than once: queue, db'])
  })
})

describe('the README.md of a folder in a room', () => {
  it('names what lies beside it, if it lists files at all', () => {
    const support = (readme: string): Folder =>
      folderOf('db', ['store.ts', 'functions/facts.sql', 'functions/tags.sql'], { 'functions/README.md': readme })
    assert.deepEqual(find(README, support('# Functions\n')), [])
    assert.deepEqual(find(README, support('# Functions\n\n## Files\n\n- `facts.sql`\n- `purge.sql`\n')), [
      'db/functions/README.md does not name tags.sql under "## Files"',
      'db/functions/README.md names purge.sql, which is not there',
    ])
  })
})

describe('the folders at the top', () => {
  it('are rooms, and all rooms are there', () => {
    const folders = [...house(README).filter(({ name }) => name !== 'worker'), folderOf('lib', ['a.ts'])]
    assert.deepEqual(faultsBesides(folders), ['There is no room worker', 'lib is no room of the import table'])
  })
})
