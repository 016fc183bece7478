import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hasPhrase, parseSearch } from '../../contract/search.ts'
import { searchOf, searchOfWords } from '../../tagger/searched-words.ts'
import { hashesOfText } from '../../tagger/text-words.ts'

const TEXTS = {
  export: 'The exports of my report failed twice this week',
  card: 'They charged my card twice, and the card was declined',
  login: 'Cannot log in with my password since the update',
  sso: 'Please add SSO for our team',
  german: 'Die Größe der Schrift ist für mich viel zu klein',
  greek: 'Ο ΛΌΓΟΣ και ο τρόπος',
  french: "La facture n'est pas arrivée, et les exportations sont lentes",
  russian: 'Приложение часто вылетает после обновления',
  japanese: '検索機能が遅いです。猫の写真',
  thai: 'ค้นหาไม่เจอ',
  marks: 'cafe\u0301 soft\u00ADhyphen e\u200D\u0301te\u0301 ﬁle ①',
  html: '<p>Gr&ouml;&szlig;e</p><script>secret</script> List<String>',
  spanish: 'La organización no está: las organizaciones y el cœur, la crêpe, Łódź',
  turkish: 'Kırık bir şişe geldi ve çok üzüldüm',
  kana: 'がっこう и Ёлка, йод',
  emoji: 'I ❤️ it 👩\u200D💻',
}

/** The texts that match a search. Checks that the index finds them by their hashes. */
const found = (q: string): string[] => {
  const given = parseSearch(q)
  assert.ok(given, q)
  const search = searchOf(given)
  return Object.entries(TEXTS).flatMap(([name, text]) => {
    const hashes = new Set(hashesOfText(text))
    const isIndexed = search.parts.every((terms) =>
      terms.some(({ words }) => words.every(({ keys }) => keys.every((any) => any.some((hash) => hashes.has(hash))))),
    )
    const isMatch = search.matches(text)
    if (!hasPhrase(search)) assert.equal(isIndexed, isMatch, `${q} in ${name}`)
    assert.ok(isIndexed || !isMatch, `${q} in ${name}`)
    return isMatch ? [name] : []
  })
}

describe('a search over texts', () => {
  const searches: [q: string, names: string[]][] = [
    ['export', ['export', 'french']],
    ['EXPORTING failing', ['export']],
    ['card twice', ['card']],
    ['"card twice"', ['card']],
    ['"twice card"', []],
    ['“card twice”', ['card']],
    ['"the cards were declined"', []],
    ['"cards was decline"', ['card']],
    ['login or sso', ['sso']],
    ['password or sso', ['login', 'sso']],
    ['my password or "card was"', ['card', 'login']],
    ['my or sso', ['export', 'card', 'login', 'sso']],
    ['größe', ['german', 'html']],
    ['GRÖßE'.normalize('NFD'), ['german', 'html']],
    ['λόγοσ', ['greek']],
    ['ΤΡΌΠΟΣ', ['greek']],
    ['factures', ['french']],
    ['arrivee', ['french']],
    ['arrivées', ['french']],
    ['grosse', ['german', 'html']],
    ['fur', ['german']],
    ['τροπος', ['greek']],
    ['organizacion', ['spanish']],
    ['organizaciones', ['spanish']],
    ['coeur crepe lodz', ['spanish']],
    ['crêpe'.normalize('NFD'), ['spanish']],
    ['"la crepe"', ['spanish']],
    ['exportàtion', ['export', 'french']],
    ['kirik sise', ['turkish']],
    ['KIRIK', ['turkish']],
    ['かっこう', []],
    ['がっこう'.normalize('NFD'), ['kana']],
    ['елка', ['kana']],
    ['иод', []],
    ['обновление', ['russian']],
    ['検索', ['japanese']],
    ['検索機能', ['japanese']],
    ['機能検索', []],
    ['猫', ['japanese']],
    ['"猫の写真"', ['japanese']],
    ['です猫', []],
    ['ค้นหา', ['thai']],
    ['café', ['marks']],
    ['cafe ete', ['marks']],
    ['softhyphen été file 1', ['marks']],
    ['string', ['html']],
    ['secret', []],
    ['❤', ['emoji']],
    ['👩💻', ['emoji']],
    ['fish and chips', []],
    ['or', []],
    ['failed or', []],
    ['"team', ['sso']],
    ['our-team', ['sso']],
    ['team-our', []],
  ]
  for (const [q, names] of searches) {
    it(`${q} finds ${names.join(', ') || 'nothing'}`, () => assert.deepEqual(found(q), names))
  }

  it('needs a word, and has at most twenty', () => {
    for (const q of ['%', '""', ' - ', '\u200B', Array.from({ length: 21 }, (_, at) => `w${at}`).join(' ')]) {
      assert.equal(parseSearch(q), undefined, q)
    }
    assert.ok(parseSearch(Array.from({ length: 20 }, (_, at) => `w${at}`).join(' ')))
  })

  it('reads all of a long text, and takes linear time for hostile ones', () => {
    const long = `${'filler words '.repeat(20_000)} needle`
    assert.ok(searchOf(parseSearch('needle')!).matches(long))
    for (const hostile of [
      '\u0301\u0323'.repeat(200_000),
      'a'.repeat(500_000),
      '検'.repeat(100_000),
      '"'.repeat(500_000),
    ]) {
      assert.ok(hashesOfText(hostile).length < 10)
      parseSearch(hostile)
    }
  })

  it('finds the words of a text in any order', () => {
    const search = searchOfWords('twice "failed" exports%')!
    assert.deepEqual(
      Object.values(TEXTS).filter((text) => search.matches(text)),
      [TEXTS.export],
    )
  })
})
