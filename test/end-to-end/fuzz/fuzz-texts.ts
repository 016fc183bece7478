// Texts of fuzzed bodies, usual and hostile, by their place in a body.

/**
 * Keys of contacts, accounts and projects, and sources. They are few, so that submissions name the
 * same records: faults hide in merges, claims, replacements and purges.
 */
export const IDENTITY_KEYS = [...'a b c A a@example.com example.com API crm 0 null'.split(' '), ' a ', 'A@Example.com ']

export const HOSTILE_TEXTS = [
  ['', ' ', '\u0000', 'a\u0000b', '\ud800', '\udfff\ud800', '\ufeff', '\ufffe\uffff', '\u2028\u2029', '\u202eabc'],
  ['İ@İ.İ', 'ß@ẞ.ẞ', 'e\u0301'.repeat(40), 'x'.repeat(512), 'x'.repeat(513), 'x'.repeat(9_000)],
  ['\u{1f600}'.repeat(512), '\u{1f600}'.repeat(513), `'; drop table feedback; --`, '$1 ${x} {{y}} %s %n \\'],
  ['<script>alert(1)</script><p>Hi &amp; &#0; &#xD800; &nbsp</p><![CDATA[x]]>'],
  [`${'<b>'.repeat(500)}x`],
  ['../../etc/passwd', 'infinity', 'now', '{"a":1}', '01a1fe57-b855-7043-8526-67d8d6621feb'],
].flat()

/** Names of members of free objects. */
export const MEMBER_NAMES = [
  '__proto__ constructor prototype toString hasOwnProperty valueOf toJSON then length'.split(' '),
  '. .. a a. .a a.b a.b.c a..b 0 a.0 __proto__.a a.__proto__ a.constructor.b'.split(' '),
  '$name $email $domain $createdAt $contractValue $set id source'.split(' '),
  ['', ' ', '\u0000', '\ud800', `${'a.'.repeat(40)}b`, 'k'.repeat(1_000)],
].flat()

export const NUMBERS = (
  '0 -0 0.1 1E+2 5e-324 1e-400 1e308 1e999 -1e999 4.5 2147483648 -9223372036854775809 9007199254740993 ' +
  '123456789012345678901234567890 99999999999999999999.5 1e100 0.30000000000000004'
).split(' ')
export const NO_JSON = [
  ['01', '+1', '.5', '1.', '0x10', 'NaN', 'Infinity', 'undefined', "'a'", '"\t"', '"\\x"', '"\\u12"', '{"a":1,}'],
  ['[,]', '/**/1'],
].flat()

export const DATE_TIMES = [
  '2026-01-31T09:30:00Z 2026-01-31t09:30:00.123456789z 0001-01-02T00:00:00Z 9999-12-31T23:59:59.999999Z'.split(' '),
  '2024-02-29T00:00:00+14:00 2026-06-01T12:00:00-23:59 2026-06-01T12:00:00.5+16:00'.split(' '),
  [`2026-01-31T09:30:00.${'9'.repeat(100)}Z`],
].flat()
export const BAD_DATE_TIMES = [
  '2025-02-29T00:00:00Z 2026-01-31T23:59:60Z 2026-01-31 2026-01-31T09:30:00 0000-12-31T00:00:00Z'.split(' '),
  '10000-01-01T00:00:00Z 0001-01-01T00:00:00Z 0001-01-01T00:00:00+01:00 9999-12-31T23:59:59-01:00 2026-13-01T00:00:00Z'.split(
    ' ',
  ),
  ['2026-01-31T24:00:00Z', '２026-01-31T00:00:00Z', 'now', 'infinity', '-infinity', 'epoch', '2026-01-31 09:30:00'],
].flat()
