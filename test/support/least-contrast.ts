/** The required contrast of a text (WCAG 2, AA). */
export const SMALLEST_CONTRAST = 4.5

/** The least contrast (WCAG 2) of a text with its background, and its element. Runs in the page. */
export const LEAST_CONTRAST = `(() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number)
  const luminance = (color) => {
    const [r, g, b] = channels(color).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor
      if (channels(color)[3] !== 0) return color
    }
    return 'rgb(255, 255, 255)'
  }
  const texts = [...document.querySelectorAll('body *')].filter((element) =>
    element.checkVisibility() && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  return texts.map((element) => {
    const [a, b] = [luminance(getComputedStyle(element).color), luminance(behind(element))].sort((x, y) => y - x)
    return { contrast: (a + 0.05) / (b + 0.05), of: element.textContent.trim().slice(0, 40) }
  }).sort((x, y) => x.contrast - y.contrast)[0]
})()`
