/** One line of a graph. */
export interface Series {
  readonly name: string
  /** Unix seconds and values, in chronological order. */
  readonly points: readonly (readonly [number, number])[]
}

const WIDTH = 720
const HEIGHT = 260
const PLOT = { left: 56, top: 32, right: WIDTH - 16, bottom: HEIGHT - 56 }
const COLOURS = ['#1f6feb', '#b35900', '#1a7f37', '#8250df', '#cf222e', '#57606a', '#0f766e', '#9a6700']
const MINUTE = 60

/**
 * Draws series over time as an SVG, and leaves out values that are not finite. The background is white, so that the graph can
 * also be read in a dark viewer.
 *
 * @param unit the text after each number, such as ` s`
 */
export function drawGraph(title: string, unit: string, series: readonly Series[]): string {
  const points = series.flatMap((each) => each.points).filter(([, value]) => Number.isFinite(value))
  const times = points.map(([time]) => time)
  const startTime = Math.min(...times)
  const endTime = Math.max(...times)
  const maxValue = roundUp(Math.max(...points.map(([, value]) => value), 0))
  const x = (time: number) =>
    PLOT.left + ((time - startTime) / (endTime - startTime || 1)) * (PLOT.right - PLOT.left)
  const y = (value: number) => PLOT.bottom - (value / maxValue) * (PLOT.bottom - PLOT.top)
  const steps = [0, 0.25, 0.5, 0.75, 1].map((share) => share * maxValue)
  const minutes = Array.from({ length: Math.floor((endTime - startTime) / MINUTE) + 1 }, (_, index) => index)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="11" role="img">
<title>${escapeXml(title)}</title>
<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
<text x="${PLOT.left}" y="18" font-size="13" font-weight="600">${escapeXml(title)}</text>
${steps
  .map(
    (value) =>
      `<path d="M${PLOT.left} ${y(value).toFixed(1)}H${PLOT.right}" stroke="#d8dee4"/><text x="${PLOT.left - 6}" y="${(y(value) + 4).toFixed(1)}" text-anchor="end" fill="#57606a">${formatNumber(value)}${unit}</text>`,
  )
  .join('\n')}
${minutes.map((minute) => `<text x="${x(startTime + minute * MINUTE).toFixed(1)}" y="${PLOT.bottom + 16}" text-anchor="${minute === 0 ? 'start' : 'end'}" fill="#57606a">${minute} min</text>`).join('\n')}
${series.map(({ points: line }, index) => `<path d="${drawPath(line, x, y)}" fill="none" stroke="${pickColour(index)}" stroke-width="1.6"/>`).join('\n')}
${series.map(({ name }, index) => drawLegend(name, index)).join('\n')}
</svg>
`
}

const pickColour = (index: number) => COLOURS[index % COLOURS.length] ?? '#000'

/** Draws one entry of the legend, which has four entries in a row. A long name is cut, so that it does not reach the next entry. */
function drawLegend(name: string, index: number): string {
  const left = PLOT.left + (index % 4) * 165
  const top = PLOT.bottom + 30 + Math.floor(index / 4) * 14
  return `<rect x="${left}" y="${top - 8}" width="10" height="10" fill="${pickColour(index)}"/><text x="${left + 14}" y="${top + 1}">${escapeXml(name.slice(0, 26))}</text>`
}

function drawPath(
  points: Series['points'],
  x: (time: number) => number,
  y: (value: number) => number,
): string {
  return points
    .filter(([, value]) => Number.isFinite(value))
    .map(([time, value], index) => `${index === 0 ? 'M' : 'L'}${x(time).toFixed(1)} ${y(value).toFixed(1)}`)
    .join('')
}

/** Rounds up to 1, 2 or 5 times a power of ten. Returns 1 if the value is not positive or not finite. */
function roundUp(value: number): number {
  if (!(value > 0) || !Number.isFinite(value)) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= value) ?? value
}

const formatNumber = (value: number) => String(Number(value.toPrecision(3)))
const escapeXml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
