import { expect, test } from 'vitest'
import { drawGraph } from './draw-graph.ts'

test('scales a graph to its largest value, rounded up, leaves out missing values, and escapes markup in names', () => {
  const svg = drawGraph('A & B', ' s', [
    {
      name: '<b>',
      points: [
        [0, 1],
        [60, Number.NaN],
        [120, 4],
      ],
    },
  ])
  expect(svg).toContain('A &amp; B')
  expect(svg).toContain('&lt;b>')
  expect(svg).not.toMatch(/NaN|Infinity/)
  expect(svg).toContain('5 s<')
  expect(svg).toContain('2 min<')
})
