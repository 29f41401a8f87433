import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

interface CallFrame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
}

interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: CallFrame
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

const MOST = 40
const MOST_PACKAGES = 16
const ROOT = path.resolve(import.meta.dirname, '../..')

/** Where each app spent its time, by function alone (not what it calls), idle time left out. */
export async function printHotSpots(folder: string, say: (line: string) => void): Promise<void> {
  for (const name of (await readdir(folder)).sort()) {
    const profile = JSON.parse(await readFile(path.join(folder, name), 'utf8')) as Profile
    const tell = (places: (frame: CallFrame) => string, most: number) => {
      for (const { share, where } of hotSpots(profile, places).slice(0, most))
        say(`${(share * 100).toFixed(1).padStart(6)} %  ${where}`)
    }
    say(`\n${name}, by package`)
    tell(packageOf, MOST_PACKAGES)
    say(`\n${name}, by function`)
    tell(placeOf, MOST)
  }
}

function hotSpots(
  { nodes, samples, timeDeltas }: Profile,
  place: (frame: CallFrame) => string,
): { share: number; where: string }[] {
  const places = new Map(nodes.map(({ id, callFrame }) => [id, place(callFrame)]))
  const times = new Map<string, number>()
  for (const [index, sample] of samples.entries()) {
    const where = places.get(sample) ?? '?'
    if (where === '(idle)' || where === '(program)') continue
    times.set(where, (times.get(where) ?? 0) + (timeDeltas[index] ?? 0))
  }
  const total = [...times.values()].reduce((sum, time) => sum + time, 0)
  return [...times]
    .map(([where, time]) => ({ share: time / total, where }))
    .toSorted((a, b) => b.share - a.share)
}

const fileOf = ({ url }: CallFrame) =>
  (url.startsWith('file:') ? path.relative(ROOT, fileURLToPath(url)) : url).replace(/^.*node_modules\//, '')

/** A package, a part of Node, or what has no file: collecting garbage, and calls of the system. */
function packageOf(frame: CallFrame): string {
  if (!frame.url) return frame.functionName || 'native'
  return (
    /^(node:\w+(\/crypto)?|@[^/]+\/[^/]+|(apps|packages)\/[^/]+|[^/]+)/.exec(fileOf(frame))?.[0] ?? frame.url
  )
}

function placeOf(frame: CallFrame): string {
  const name = frame.functionName || 'anonymous'
  if (!frame.url) return name
  return `${name} ${fileOf(frame)}:${frame.lineNumber + 1}`
}
