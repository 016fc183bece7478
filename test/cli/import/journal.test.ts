import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { openJournal } from '../../../cli/import/journal.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const SUBJECT = { mappingHash: 'm', url: 'http://service.test' }

describe('the journal of an import', () => {
  const folder = temporaryDirectory()

  it('has the answered submissions at the next run, even after a truncated line', () => {
    const path = join(folder, 'one')
    const first = openJournal(path, SUBJECT)
    first.note('a', [])
    first.note('b', ['rating must be a number'])
    first.close()
    appendFileSync(path, '{"key":"c"')
    const second = openJournal(path, SUBJECT)
    assert.deepEqual([...second.answered.keys()], ['a', 'b'])
    second.note('d', [])
    second.close()
    const third = openJournal(path, SUBJECT)
    const answered = [
      ['a', []],
      ['b', ['rating must be a number']],
      ['d', []],
    ]
    assert.deepEqual([...third.answered], answered)
    third.close()
  })

  it('begins again in a file that is empty or has a cut first line, as after a full disk', () => {
    for (const text of ['', JSON.stringify(SUBJECT).slice(0, -3)]) {
      const path = join(folder, `cut ${text.length}`)
      writeFileSync(path, text)
      const journal = openJournal(path, SUBJECT)
      journal.note('a', [])
      journal.close()
      const next = openJournal(path, SUBJECT)
      assert.deepEqual([...next.answered], [['a', []]])
      next.close()
    }
  })

  it('refuses another mapping or service, another file and a path that cannot be used, and does not change', () => {
    const path = join(folder, 'two')
    // Without an answered submission, the journal begins again for another service.
    openJournal(path, { ...SUBJECT, url: 'http://elsewhere.test' }).close()
    const journal = openJournal(path, SUBJECT)
    journal.note('a', [])
    journal.close()
    const before = readFileSync(path, 'utf8')
    const other = { mappingHash: 'n', url: 'x' }
    assert.throws(() => openJournal(path, other), /the mapping and the service changed/)
    writeFileSync(join(folder, 'three'), 'something else\n')
    assert.throws(() => openJournal(join(folder, 'three'), SUBJECT), /is the journal of another import/)
    assert.throws(() => openJournal(join(folder, 'none', 'four'), SUBJECT), /cannot be used \(ENOENT\).*--state/)
    assert.throws(() => openJournal(folder, SUBJECT), /cannot be used \(EISDIR\).*--state/)
    assert.equal(readFileSync(path, 'utf8'), before)
  })
})
