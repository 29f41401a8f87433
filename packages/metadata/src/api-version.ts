export const API_TITLE = 'Plainpath Immigration Guidance API'
export const API_VERSION = '0.1.0'
