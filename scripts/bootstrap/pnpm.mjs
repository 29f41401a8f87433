import path from 'node:path'
import process from 'node:process'

/** The folder with the manifest and lockfile of pnpm, relative to the root. */
export const PNPM_FOLDER = path.join('scripts', 'bootstrap', 'pnpm')

/** Returns the name of the npm package that contains pnpm for this platform. */
export const getPnpmPackage = () => `@pnpm/exe.${process.platform}-${process.arch}`

/** Returns the path of the pinned pnpm. @param {string} root */
export const getPnpmProgram = (root) => path.join(root, PNPM_FOLDER, 'node_modules', getPnpmPackage(), 'pnpm')
