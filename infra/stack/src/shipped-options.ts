import { z } from 'zod'

const Words = z.array(z.string())

/**
 * The options of Node under which the image starts the apps.
 *
 * @param dockerfile its text; each entry point is the program, its options and the file it runs
 * @throws {Error} when there is no entry point, or two differ
 */
export function shippedOptions(dockerfile: string): readonly string[] {
  const entryPoints = [...dockerfile.matchAll(/^ENTRYPOINT (\[.*\])$/gm)].map(([, words = '']) =>
    Words.parse(JSON.parse(words)).slice(1, -1),
  )
  const [options, ...others] = entryPoints
  if (!options) throw new Error('the Dockerfile has no entry point')
  if (others.some((other) => other.join(' ') !== options.join(' ')))
    throw new Error('the apps are started under different options')
  return options
}
