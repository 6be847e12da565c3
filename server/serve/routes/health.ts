import { sendJson } from "../../http/respond.ts";
import type { ServeRoute } from "../context.ts";

/** `GET /health`: 200 while it takes requests. */
export const getHealth: ServeRoute = ({ isReady, isClosing }, { response }) => {
  if (isClosing()) return sendJson(response, 503, { status: "closing" });
  if (isReady()) return sendJson(response, 200, { status: "ok" });
  sendJson(response, 503, { status: "loading" });
};
