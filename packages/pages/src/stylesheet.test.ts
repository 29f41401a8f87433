import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { STYLESHEET } from './index.ts'

type Colours = Readonly<Record<string, string>>

/**
 * The colours of each `:root` block, by name: light, dark, forced colours and print, in the order of the stylesheet. A value is
 * hexadecimal, or a system colour such as `CanvasText`.
 */
const rootBlocks = [...STYLESHEET.body.matchAll(/:root \{(?<body>[^}]*)\}/g)].map(({ groups }) =>
  Object.fromEntries(
    [...(groups?.['body'] ?? '').matchAll(/(--[a-z-]+): (#[0-9a-f]{3,6}|[A-Z][A-Za-z]+);/g)].map(
      ([, name, value]) => [name, value],
    ),
  ),
)
const [light = {}, darkChanges = {}, forcedColours = {}, printChanges = {}] = rootBlocks as Colours[]
const schemes: [string, Colours][] = [
  ['light', light],
  ['dark', { ...light, ...darkChanges }],
  ['print', { ...light, ...printChanges }],
]

/** Computes the relative luminance of a colour (WCAG 2.2). */
function computeLuminance(colour: string | undefined): number {
  const digits = /^#([0-9a-f]{3}|[0-9a-f]{6})$/.exec(colour ?? '')?.[1] ?? ''
  const sixDigits = digits.length === 3 ? [...digits].map((digit) => digit + digit).join('') : digits
  const [red = Number.NaN, green = Number.NaN, blue = Number.NaN] = [0, 2, 4].map((index) => {
    const channel = Number.parseInt(sixDigits.slice(index, index + 2), 16) / 255
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Computes the contrast ratio of two colours (WCAG 2.2). */
function computeContrast(one: string | undefined, other: string | undefined): number {
  const luminances = [computeLuminance(one), computeLuminance(other)]
  return (Math.max(...luminances) + 0.05) / (Math.min(...luminances) + 0.05)
}

/** Matches the rule for buttons while the system forces its own colours. */
const FORCED_BUTTON = /button,\s*button\.second \{[^}]*ButtonText[^}]*\}/

describe('the stylesheet', () => {
  test('has a path with a hash of its bytes', () => {
    const hash = createHash('sha256').update(STYLESHEET.body).digest('hex')
    expect(STYLESHEET.path).toBe(`/assets/plainpath-${hash.slice(0, 16)}.css`)
  })

  test('has under 21,000 bytes and loads nothing', () => {
    expect(Buffer.byteLength(STYLESHEET.body)).toBeLessThan(21_000)
    expect(STYLESHEET.body).not.toMatch(/url\(|@import|@font-face|https?:\/\//)
  })

  test('takes all colours from :root, and uses only these as backgrounds and for text', () => {
    const rules = STYLESHEET.body.replaceAll(/:root \{[^}]*\}/g, '').replace(FORCED_BUTTON, '')
    expect(rules).not.toMatch(/#[0-9a-f]{3,8}\b|rgb|hsl|oklch|opacity|filter/)
    expect(rootBlocks).toHaveLength(4)
    const backgrounds = [...rules.matchAll(/background: ([^;]+);/g)].map(([, value]) => value)
    expect(new Set(backgrounds)).toEqual(
      new Set(['var(--paper)', 'var(--code-paper)', 'var(--warm-paper)', 'var(--accent)', 'var(--warm-ink)']),
    )
    const inks = [...rules.matchAll(/[^-]color: ([^;]+);/g)].map(([, value]) => value)
    expect(new Set(inks)).toEqual(
      new Set(['var(--ink)', 'var(--quiet)', 'var(--accent)', 'var(--warm-ink)', 'var(--paper)']),
    )
  })

  // 7 to 1 is the minimum of WCAG 2.2, 1.4.6 (level AAA).
  test.for(schemes)('gives text a contrast of at least 7 to 1 in the %s scheme', ([, colours]) => {
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
      expect(computeContrast(colours[ink], colours[paper]), `${ink} on ${paper}`).toBeGreaterThanOrEqual(7)
    }
  })

  // 3 to 1 is the minimum of WCAG 2.2, 1.4.11.
  test.for(schemes)('gives the focus ring a contrast of at least 3 to 1 in the %s scheme', ([, colours]) => {
    for (const paper of ['--paper', '--warm-paper', '--code-paper']) {
      // The focus ring has the accent colour.
      expect(computeContrast(colours['--accent'], colours[paper]), paper).toBeGreaterThanOrEqual(3)
    }
  })

  test('replaces every colour with a system colour if the system forces its own colours', () => {
    expect(Object.keys(forcedColours).toSorted()).toEqual(Object.keys(light).toSorted())
    expect(new Set(Object.values(forcedColours))).toEqual(new Set(['Canvas', 'CanvasText', 'LinkText']))
    expect(FORCED_BUTTON.exec(STYLESHEET.body)?.[0]).toMatch(/background: ButtonFace;\n\s*color: ButtonText;/)
  })

  test('has media queries for the dark scheme, forced colours, print and narrow screens', () => {
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

test('computeContrast returns 21 for black on white, as WCAG says', () => {
  expect(computeContrast('#000', '#ffffff')).toBeCloseTo(21)
})
