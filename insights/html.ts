/** Text that is already HTML. Only `html` and `trusted` make it. */
export type Html = { readonly html: string }

type Value = Html | string | number | readonly Html[]

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** The texts of each template without the indentation of its source, which would be half of a page. */
const dense = new WeakMap<TemplateStringsArray, readonly string[]>()

const densely = (texts: TemplateStringsArray): readonly string[] => {
  const known = dense.get(texts) ?? texts.map((text) => text.replaceAll(/\s*\n\s*/g, '\n'))
  dense.set(texts, known)
  return known
}

/** A template of HTML that escapes every value except HTML. Attributes must be quoted. */
export const html = (texts: TemplateStringsArray, ...values: readonly Value[]): Html => ({
  html: densely(texts)
    .map((text, at) => text + (at < values.length ? escaped(values[at]!) : ''))
    .join(''),
})

/** Takes text as HTML, without escapes: only for files of this repository, such as a style sheet. */
export const trusted = (text: string): Html => ({ html: text })

const escaped = (value: Value): string => {
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return value.replaceAll(/[&<>"']/g, (character) => ESCAPES[character]!)
  return 'html' in value ? value.html : value.map((part) => part.html).join('')
}
