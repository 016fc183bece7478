import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cutHtml, MAX_HTML_CHARACTERS, reduceHtml } from '../../tagger/reduce-html.ts'

const lines = (text: string) =>
  reduceHtml(text)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

test('plain text stays unchanged, including line breaks', () => {
  assert.equal(reduceHtml('The export fails.\nSince 3 < 4 & 5 > 4'), 'The export fails.\nSince 3 < 4 & 5 > 4')
})

test('entities are decoded', () => {
  assert.equal(reduceHtml('billing &amp; caf&eacute;&#39;s &#x41;'), "billing & café's A")
})

test('each block is a line, <br> ends a line, and inline elements and newlines in HTML do not', () => {
  assert.deepEqual(lines('<div>The <b>ex</b>port\nbutton</div><ul><li>slow<li>ugly</ul>end<br>here<td>cell'), [
    'The export button',
    'slow',
    'ugly',
    'end',
    'here',
    'cell',
  ])
})

test('scripts, styles, comments and attributes are not text', () => {
  const html = '<head><title>t</title></head><style>.a{}</style><script>x<y</script><!-- c --><p title="t">kept</p>'
  assert.deepEqual(lines(html), ['kept'])
})

test('the text after a < that begins no element is kept', () => {
  assert.deepEqual(lines('<p>fine</p>if x<y the screen flickers'), ['fine', 'if x<y the screen flickers'])
})

test('very long markup is read up to a bound, without the element at the cut', () => {
  const html = `<p>kept</p>${' '.repeat(MAX_HTML_CHARACTERS - 20)}<a href="secret">`
  assert.deepEqual(lines(cutHtml(html)), ['kept'])
})

test('a long plain text with a heart keeps its words up to the cut', () => {
  const text = 'We <3 it. ' + 'The export fails. '.repeat(3_000)
  assert.equal(cutHtml(text), text.slice(0, MAX_HTML_CHARACTERS))
})
