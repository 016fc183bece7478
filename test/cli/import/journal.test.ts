import assert from 'node:assert/strict'
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { openJournal, refusedIn } from '../../../cli/import/journal.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const SUBJECT = { fileHash: 'f', mappingHash: 'm', url: 'http://service.test' }

describe('the journal of an import', () => {
  const folder = temporaryDirectory()

  it('knows at the next run what was settled, also after a line that was cut off', () => {
    const path = join(folder, 'one')
    const first = openJournal(path, SUBJECT)
    first.note(2)
    first.note(3, ['rating must be a number'])
    first.close()
    appendFileSync(path, '{"line":4')
    const second = openJournal(path, SUBJECT)
    assert.deepEqual([...second.settled.keys()], [2, 3])
    second.note(5)
    second.close()
    const third = openJournal(path, SUBJECT)
    assert.deepEqual([...third.settled.keys()], [2, 3, 5])
    assert.deepEqual(refusedIn(third), [{ line: 3, reasons: ['rating must be a number'] }])
    third.close()
  })

  it('does not go on with another file, mapping or service, and stays as it is', () => {
    const path = join(folder, 'two')
    openJournal(path, { ...SUBJECT, url: 'http://elsewhere.test' }).close()
    const journal = openJournal(path, SUBJECT)
    journal.note(2)
    journal.close()
    const before = readFileSync(path, 'utf8')
    assert.throws(() => openJournal(path, { ...SUBJECT, fileHash: 'g' }), /the file changed/)
    assert.throws(
      () => openJournal(path, { ...SUBJECT, mappingHash: 'n', url: 'x' }),
      /the mapping and the service changed/,
    )
    appendFileSync(join(folder, 'three'), 'something else\n')
    assert.throws(() => openJournal(join(folder, 'three'), SUBJECT), /began otherwise/)
    assert.equal(readFileSync(path, 'utf8'), before)
  })
})
