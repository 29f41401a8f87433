import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { STYLESHEET } from './index.ts'

type Colours = Readonly<Record<string, string>>

const blocks = [...STYLESHEET.body.matchAll(/:root \{(?<body>[^}]*)\}/g)].map(({ groups }) =>
  Object.fromEntries(
    [...(groups?.['body'] ?? '').matchAll(/(--[a-z-]+): (#[0-9a-f]{3,6}|[A-Z][A-Za-z]+);/g)].map(
      ([, n, v]) => [n, v],
    ),
  ),
)
const [light = {}, darkChanges = {}, forcedColours = {}, printChanges = {}] = blocks as Colours[]
const schemes: [string, Colours][] = [
  ['light', light],
  ['dark', { ...light, ...darkChanges }],
  ['print', { ...light, ...printChanges }],
]

/** WCAG 2.2, "relative luminance". */
function luminance(colour: string | undefined): number {
  const digits = /^#([0-9a-f]{3}|[0-9a-f]{6})$/.exec(colour ?? '')?.[1] ?? ''
  const six = digits.length === 3 ? [...digits].map((digit) => digit + digit).join('') : digits
  const [red = Number.NaN, green = Number.NaN, blue = Number.NaN] = [0, 2, 4].map((at) => {
    const channel = Number.parseInt(six.slice(at, at + 2), 16) / 255
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: string | undefined, other: string | undefined): number {
  const [dark = Number.NaN, bright = Number.NaN] = [luminance(one), luminance(other)].toSorted(
    (a, b) => a - b,
  )
  return (bright + 0.05) / (dark + 0.05)
}

const FORCED_BUTTON = /button,\s*button\.second \{[^}]*ButtonText[^}]*\}/

describe('the stylesheet', () => {
  test('has a path that names its bytes', () => {
    const hash = createHash('sha256').update(STYLESHEET.body).digest('hex')
    expect(STYLESHEET.path).toBe(`/assets/plainpath-${hash.slice(0, 16)}.css`)
  })

  test('is under 21 KB and takes nothing from elsewhere', () => {
    expect(Buffer.byteLength(STYLESHEET.body)).toBeLessThan(21_000)
    expect(STYLESHEET.body).not.toMatch(/url\(|@import|@font-face|https?:\/\//)
  })

  test('names its colours in :root alone, so that the pairs below are all there are', () => {
    const rules = STYLESHEET.body.replaceAll(/:root \{[^}]*\}/g, '').replace(FORCED_BUTTON, '')
    expect(rules).not.toMatch(/#[0-9a-f]{3,8}\b|rgb|hsl|oklch|opacity|filter/)
    expect(blocks).toHaveLength(4)
    const backgrounds = [...rules.matchAll(/background: ([^;]+);/g)].map(([, value]) => value)
    expect(new Set(backgrounds)).toEqual(
      new Set([
        ...['var(--paper)', 'var(--code-paper)', 'var(--warm-paper)', 'var(--accent)'],
        'var(--warm-ink)',
      ]),
    )
    const inks = [...rules.matchAll(/[^-]color: ([^;]+);/g)].map(([, value]) => value)
    expect(new Set(inks)).toEqual(
      new Set(['var(--ink)', 'var(--quiet)', 'var(--accent)', 'var(--warm-ink)', 'var(--paper)']),
    )
  })

  test.for(schemes)('gives text a contrast of 7 to 1 or more: %s', ([, colours]) => {
    const pairs = [
      ['--ink', '--paper'],
      ['--quiet', '--paper'],
      ['--accent', '--paper'],
      ['--paper', '--accent'],
      ['--ink', '--code-paper'],
      ['--ink', '--warm-paper'],
      ['--warm-ink', '--warm-paper'],
      ['--paper', '--warm-ink'],
    ] as const
    for (const [ink, paper] of pairs) {
      expect(contrast(colours[ink], colours[paper]), `${ink} on ${paper}`).toBeGreaterThanOrEqual(7)
    }
  })

  test.for(schemes)('gives the focus ring a contrast of 3 to 1 or more on every paper: %s', ([, colours]) => {
    for (const paper of ['--paper', '--warm-paper', '--code-paper']) {
      expect(contrast(colours['--accent'], colours[paper]), paper).toBeGreaterThanOrEqual(3)
    }
  })

  test('names the colours of the system where the system forces its own, all of them', () => {
    expect(Object.keys(forcedColours).toSorted()).toEqual(Object.keys(light).toSorted())
    expect(new Set(Object.values(forcedColours))).toEqual(new Set(['Canvas', 'CanvasText', 'LinkText']))
    expect(FORCED_BUTTON.exec(STYLESHEET.body)?.[0]).toMatch(/background: ButtonFace;\n\s*color: ButtonText;/)
  })

  test('knows the dark scheme, forced colours, print and narrow screens', () => {
    for (const media of [
      'prefers-color-scheme: dark',
      'forced-colors: active',
      'print',
      'max-width: 30rem',
    ]) {
      expect(STYLESHEET.body).toContain(media)
    }
  })
})

test('contrast is 21 for black on white, as WCAG says', () => {
  expect(contrast('#000', '#ffffff')).toBeCloseTo(21)
})
